"""Kafka with TLS and SASL. The test creates certificates; options have the names of the Java client."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors import WriteTask
from penstock.connectors.kafka import DeliveryGuarantee, KafkaSource
from penstock.errors import PenstockError
from tests.servers import Kafka
from tests.system.kafka.jobs import LATEST, builder, read_all, read_directly
from tests.system.kafka.writing import sink_to, write

pytestmark = pytest.mark.long

PASSWORD = "sesame-street"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
KEYTOOL = shutil.which("keytool") or "keytool"


def keytool(*arguments: str) -> None:
    subprocess.run([KEYTOOL, *arguments, "-storepass", PASSWORD], check=True, capture_output=True)


class Secured:
    """A broker that requires TLS and a password."""

    def __init__(self, folder: Path) -> None:
        self.authority = folder / "broker.pem"
        store = folder / "broker.p12"
        names = ("-alias", "broker", "-dname", "CN=127.0.0.1", "-ext", "SAN=IP:127.0.0.1")
        keytool("-genkeypair", "-keyalg", "RSA", *names, "-storetype", "PKCS12", "-keystore", str(store))
        keytool("-exportcert", "-rfc", "-alias", "broker", "-keystore", str(store), "-file", str(self.authority))
        users = f'{LOGIN} username="admin" password="{PASSWORD}" user_admin="{PASSWORD}" user_app="{PASSWORD}";'
        self.kafka = Kafka(
            {
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_SSL",
                "inter.broker.listener.name": "PLAINTEXT",
                "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "listener.name.plaintext.plain.sasl.jaas.config": users,
                "listener.name.plaintext.scram-sha-256.sasl.jaas.config": f"{SCRAM};",
                "listener.name.plaintext.scram-sha-512.sasl.jaas.config": f"{SCRAM};",
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": str(store),
                "ssl.keystore.password": PASSWORD,
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.authority),
                "auto.create.topics.enable": "true",
            }
        )

    def add_user(self, name: str, mechanism: str) -> None:
        kafka: Any = importlib.import_module("confluent_kafka.admin")  # its types do not name what it has

        kind = getattr(kafka.ScramMechanism, mechanism.replace("-", "_"))
        admin = kafka.AdminClient(
            {
                "bootstrap.servers": self.kafka.bootstrap,
                "security.protocol": "SASL_SSL",
                "sasl.mechanisms": "PLAIN",
                "sasl.username": "admin",
                "sasl.password": PASSWORD,
                "ssl.ca.location": str(self.authority),
            }
        )
        credentials = kafka.UserScramCredentialUpsertion(name, kafka.ScramCredentialInfo(kind, 4096), PASSWORD.encode())
        for done in admin.alter_user_scram_credentials([credentials]).values():
            done.result(180)

    def options(self, **others: str) -> dict[str, str]:
        """Options as in a Flink program."""
        options = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{LOGIN} username="app" password="{PASSWORD}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
        }
        return options | {name.replace("_", "."): value for name, value in others.items()}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    broker = Secured(tmp_path_factory.mktemp("certificates"))
    yield broker
    broker.kafka.stop()


def send(secured: Secured, topic: str, values: list[str], options: dict[str, str]) -> None:
    sink = sink_to(secured.kafka.bootstrap, topic, DeliveryGuarantee.EXACTLY_ONCE, **options)
    write(sink, WriteTask(0, 0, "0.0", f"lineage of {topic}"), values)


def source_of(secured: Secured, topic: str, options: dict[str, str]) -> KafkaSource:
    broker = builder(secured.kafka, topic).set_bounded(LATEST)
    for name, value in options.items():
        broker.set_property(name, value)
    return broker.build()


def read(secured: Secured, topic: str, options: dict[str, str]) -> list[Any]:
    return read_all(source_of(secured, topic, options))


def test_write_and_read(secured: Secured) -> None:
    values = [f"value {n}" for n in range(500)]
    send(secured, "alphabet", values, secured.options())
    source = source_of(secured, "alphabet", secured.options())
    assert sorted(read_all(source)) == sorted(values)
    assert read_directly(source)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_login(secured: Secured, mechanism: str) -> None:
    secured.add_user("reader", mechanism)
    values = [f"value {n}" for n in range(500)]
    send(secured, mechanism, values, secured.options())
    login = {"sasl_mechanism": mechanism, "sasl_jaas_config": f'{SCRAM} username="reader" password="{PASSWORD}";'}
    source = source_of(secured, mechanism, secured.options(**login))
    assert sorted(read_all(source)) == sorted(values)
    assert read_directly(source)


def test_wrong_password_error_does_not_contain_the_password(secured: Secured) -> None:
    wrong = secured.options(sasl_jaas_config=f'{LOGIN} username="app" password="open-barley";')
    for attempt in (lambda: read(secured, "alphabet", wrong), lambda: send(secured, "alphabet", ["a"], wrong)):
        with pytest.raises(PenstockError, match="KAFKA_CREDENTIALS") as error:
            attempt()
        assert "open-barley" not in str(error.value)


def test_broker_with_unknown_certificate_is_rejected(secured: Secured, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    store = ("-alias", "other", "-keystore", str(tmp_path / "other.p12"))
    keytool("-genkeypair", "-keyalg", "RSA", "-dname", "CN=other", "-storetype", "PKCS12", *store)
    keytool("-exportcert", "-rfc", *store, "-file", str(other))
    with pytest.raises(PenstockError, match="KAFKA_") as error:
        read(secured, "alphabet", secured.options(ssl_truststore_location=str(other)))
    assert "certificate" in str(error.value).lower()
