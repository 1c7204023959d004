"""Names of the librdkafka options, and of the Java client options that have no effect here."""

from __future__ import annotations

_COMMON = """
builtin.features client.id metadata.broker.list bootstrap.servers message.max.bytes message.copy.max.bytes
receive.message.max.bytes max.in.flight.requests.per.connection max.in.flight metadata.recovery.strategy
metadata.recovery.rebootstrap.trigger.ms topic.metadata.refresh.interval.ms metadata.max.age.ms
topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.sparse topic.metadata.propagation.max.ms topic.blacklist debug
socket.timeout.ms socket.send.buffer.bytes socket.receive.buffer.bytes socket.keepalive.enable socket.nagle.disable
socket.max.fails broker.address.ttl broker.address.family socket.connection.setup.timeout.ms connections.max.idle.ms
reconnect.backoff.ms reconnect.backoff.max.ms retry.backoff.ms retry.backoff.max.ms statistics.interval.ms log_level log.queue
log.thread.name enable.random.seed log.connection.close api.version.request api.version.request.timeout.ms
api.version.fallback.ms broker.version.fallback allow.auto.create.topics security.protocol ssl.cipher.suites ssl.curves.list
ssl.sigalgs.list ssl.key.location ssl.key.password ssl.key.pem ssl.certificate.location ssl.certificate.pem ssl.ca.location
ssl.ca.pem https.ca.location https.ca.pem ssl.ca.certificate.stores ssl.crl.location ssl.keystore.location ssl.keystore.password
ssl.providers ssl.engine.location enable.ssl.certificate.verification ssl.endpoint.identification.algorithm sasl.mechanisms
sasl.mechanism sasl.kerberos.service.name sasl.kerberos.principal sasl.kerberos.kinit.cmd sasl.kerberos.keytab
sasl.kerberos.min.time.before.relogin sasl.username sasl.password sasl.oauthbearer.config
enable.sasl.oauthbearer.unsecure.jwt sasl.oauthbearer.method sasl.oauthbearer.client.id
sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.secret
sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.scope sasl.oauthbearer.extensions
sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.grant.type sasl.oauthbearer.assertion.algorithm
sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
sasl.oauthbearer.assertion.private.key.pem sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.claim.aud
sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include
sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.jwt.template.file
sasl.oauthbearer.metadata.authentication.type plugin.library.paths client.rack client.dns.lookup enable.metrics.push
"""

_CONSUMERS = """
group.id group.instance.id partition.assignment.strategy session.timeout.ms heartbeat.interval.ms group.protocol.type
group.protocol group.remote.assignor coordinator.query.interval.ms max.poll.interval.ms enable.auto.commit
auto.commit.interval.ms enable.auto.offset.store queued.min.messages queued.max.messages.kbytes fetch.wait.max.ms
fetch.queue.backoff.ms fetch.message.max.bytes max.partition.fetch.bytes fetch.max.bytes fetch.min.bytes
fetch.error.backoff.ms isolation.level enable.partition.eof check.crcs auto.offset.reset fetch.max.wait.ms
"""

_PRODUCERS = """
transactional.id transaction.timeout.ms enable.idempotence enable.gapless.guarantee queue.buffering.max.messages
queue.buffering.max.kbytes queue.buffering.max.ms linger.ms message.send.max.retries retries
queue.buffering.backpressure.threshold compression.codec compression.type batch.num.messages batch.size delivery.report.only.error
sticky.partitioning.linger.ms request.required.acks acks request.timeout.ms message.timeout.ms delivery.timeout.ms
queuing.strategy partitioner compression.level buffer.memory max.request.size
"""

CONSUMER_ONLY = frozenset(_CONSUMERS.split())
PRODUCER_ONLY = frozenset(_PRODUCERS.split())
KNOWN_OPTIONS = frozenset(_COMMON.split()) | CONSUMER_ONLY | PRODUCER_ONLY

_JAVA_CLASS = "names a Java class"
_JAVA_METRICS = "configures metrics of the Java client"
_SET_BY_CONNECTOR = "is set by the connector"
_SET_BY_OPENSSL = "is set by OpenSSL"

_NO_GROUP = "applies to members of a consumer group, and the connector assigns partitions itself"
_NO_AUTO_COMMIT = "applies to the client; the connector commits offsets with each batch (commit.offsets.on.checkpoint)"

# Consumer options that the connector overrides or that do not apply to it, with the reason.
IGNORED_BY_SOURCES = {
    "enable.auto.commit": _NO_AUTO_COMMIT,
    "auto.commit.interval.ms": _NO_AUTO_COMMIT,
    "enable.auto.offset.store": _NO_AUTO_COMMIT,
    "enable.partition.eof": _SET_BY_CONNECTOR,
    "group.instance.id": _NO_GROUP,
    "group.protocol": _NO_GROUP,
    "group.protocol.type": _NO_GROUP,
    "group.remote.assignor": _NO_GROUP,
    "heartbeat.interval.ms": _NO_GROUP,
    "max.poll.interval.ms": _NO_GROUP,
    "partition.assignment.strategy": _NO_GROUP,
    "session.timeout.ms": _NO_GROUP,
}
# The same for producers.
IGNORED_BY_SINKS = {"transactional.id": "is set by the connector; set_transactional_id_prefix sets its prefix"}

# Options of the Java client without a counterpart in librdkafka, with the reason. The program works without them.
IGNORED_OPTIONS = {
    "key.deserializer": _SET_BY_CONNECTOR,
    "value.deserializer": _SET_BY_CONNECTOR,
    "key.serializer": _SET_BY_CONNECTOR,
    "value.serializer": _SET_BY_CONNECTOR,
    "interceptor.classes": _JAVA_CLASS,
    "metric.reporters": _JAVA_CLASS,
    "partitioner.class": _JAVA_CLASS,
    "security.providers": _JAVA_CLASS,
    "metrics.num.samples": _JAVA_METRICS,
    "metrics.recording.level": _JAVA_METRICS,
    "metrics.sample.window.ms": _JAVA_METRICS,
    "auto.include.jmx.reporter": _JAVA_METRICS,
    "register.consumer.metrics": _JAVA_METRICS,
    "register.producer.metrics": _JAVA_METRICS,
    "exclude.internal.topics": "applies to subscriptions, and the connector assigns partitions itself",
    "max.poll.records": "applies to the Java client; the option source.batch.records limits batches",
    "max.block.ms": "applies to the Java client; message.timeout.ms limits how long the delivery of a record may take",
    "ssl.protocol": _SET_BY_OPENSSL,
    "ssl.enabled.protocols": _SET_BY_OPENSSL,
    "ssl.provider": _SET_BY_OPENSSL,
    "socket.connection.setup.timeout.max.ms": "applies to the Java client; set socket.connection.setup.timeout.ms",
}
