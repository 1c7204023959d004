"""Converts client properties from the names of the Kafka Java client to those of librdkafka."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

from penstock.connectors.kafka.client.option_names import (
    CONSUMER_ONLY,
    IGNORED_BY_SINKS,
    IGNORED_BY_SOURCES,
    IGNORED_OPTIONS,
    KNOWN_OPTIONS,
    PRODUCER_ONLY,
)
from penstock.connectors.secret import Secret, wrap_secrets
from penstock.errors import ConfigError, UnsupportedOperation, warn_ignored

Role = Literal["consumer", "producer"]

# Java name -> librdkafka name, where only the name differs.
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "sasl.mechanism": "sasl.mechanisms",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
_RENAMED_FOR_CONSUMERS = {"request.timeout.ms": "socket.timeout.ms"}
_RENAMED_FOR_PRODUCERS = {"max.request.size": "message.max.bytes"}
_ALWAYS = {"enable.auto.commit": "false", "enable.partition.eof": "true"}  # values that describe what happens anyway


def client_options(properties: Mapping[str, Any], role: Role) -> dict[str, Any]:
    """Returns the options for librdkafka. Passwords and keys become Secrets.

    >>> client_options({"fetch.max.wait.ms": "100", "sasl.password": "sesame"}, "consumer")
    {'fetch.wait.max.ms': '100', 'sasl.password': Secret('***')}
    """
    other = PRODUCER_ONLY if role == "consumer" else CONSUMER_ONLY
    renamed = {**_RENAMED, **(_RENAMED_FOR_CONSUMERS if role == "consumer" else _RENAMED_FOR_PRODUCERS)}
    ignored = IGNORED_BY_SOURCES if role == "consumer" else IGNORED_BY_SINKS
    options: dict[str, Any] = {}
    for name, value in properties.items():
        if name in _CONVERTERS:
            options.update(_CONVERTERS[name](value, properties))
        elif name in IGNORED_OPTIONS:
            warn_ignored(f"The Kafka option {name} has no effect: it {IGNORED_OPTIONS[name]}.")
        elif name in ignored:
            if _to_librdkafka_value(value) != _ALWAYS.get(name):
                warn_ignored(f"The Kafka option {name} has no effect: it {ignored[name]}.")
        elif name in other and name not in renamed:
            continue  # programs often pass the same properties to consumers and producers
        elif name in renamed:
            options[renamed[name]] = _to_librdkafka_value(value)
        elif name in KNOWN_OPTIONS:
            options[name] = _to_librdkafka_value(value)
        else:
            raise _unknown_option(name)
    return wrap_secrets(options)


def _to_librdkafka_value(value: Any) -> Any:
    """Converts booleans, because librdkafka reads "true" and not "True"."""
    return str(value).lower() if isinstance(value, bool) else value


def _unknown_option(name: str) -> ConfigError:
    matches = difflib.get_close_matches(name, [*KNOWN_OPTIONS, *_RENAMED, *_CONVERTERS], 1)
    hint = f" Did you mean {matches[0]}?" if matches else " Correct the name or remove it."
    return ConfigError(
        "KAFKA_OPTION",
        f"{name} is not an option of the Kafka Java client or of librdkafka, the client that the connector uses.{hint}",
    )


# -- options that need more than a new name

_JAAS = re.compile(r"^\s*(?P<module>[\w.$]+)\s+\w+\s*(?P<rest>.*?);?\s*$", re.DOTALL)
_JAAS_FIELD = re.compile(r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|(\S+))")


def _convert_login(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Reads user and password from the configuration of a Java login module."""
    match = _JAAS.match(value.reveal() if isinstance(value, Secret) else str(value))
    module = "" if match is None else match["module"].rpartition(".")[2]
    if match is None or module not in _MECHANISMS:
        raise ConfigError(
            "KAFKA_LOGIN",
            f"sasl.jaas.config has the login module '{module or '?'}'; supported modules are {', '.join(_MECHANISMS)}. For other "
            "mechanisms set the librdkafka options sasl.mechanisms and sasl.kerberos.* or sasl.oauthbearer.*.",
        )
    fields = {
        name: re.sub(r"\\(.)", r"\1", double or single or bare)
        for name, double, single, bare in _JAAS_FIELD.findall(match["rest"])
    }
    if not {"username", "password"} <= set(fields):
        raise ConfigError(
            "KAFKA_LOGIN",
            "sasl.jaas.config has no username and password. Write "
            f'{match["module"]} required username="..." password="...";',
        )
    options: dict[str, Any] = {"sasl.username": fields["username"], "sasl.password": Secret(fields["password"])}
    if "sasl.mechanism" not in properties and "sasl.mechanisms" not in properties:
        options["sasl.mechanisms"] = _MECHANISMS[module]
    return options


_MECHANISMS = {"PlainLoginModule": "PLAIN", "ScramLoginModule": "SCRAM-SHA-512"}


def _store_converter(side: Literal["keystore", "truststore"]) -> Callable[[Any, Mapping[str, Any]], dict[str, Any]]:
    def convert(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
        kind = str(properties.get(f"ssl.{side}.type", "")).upper() or _store_type(str(value))
        if kind == "PEM":
            return {"ssl.ca.location" if side == "truststore" else "ssl.certificate.location": value}
        if kind == "PKCS12" and side == "keystore":
            return {"ssl.keystore.location": value}
        raise UnsupportedOperation(
            "KAFKA_STORE",
            f"ssl.{side}.location is {value}, of type {kind}; librdkafka reads PEM files, and PKCS12 files as keystore. "
            "Convert it, for example with `keytool -importkeystore -deststoretype PKCS12` and `openssl pkcs12`, and set "
            f"ssl.{side}.type.",
        )

    return convert


def _store_type(path: str) -> str:
    extension = path.rpartition(".")[2].lower()
    return {"pem": "PEM", "crt": "PEM", "cer": "PEM", "p12": "PKCS12", "pfx": "PKCS12"}.get(extension, "JKS")


def _drop(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _convert_identification(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    """An empty string disables host name verification in the Java client; librdkafka expects "none"."""
    return {"ssl.endpoint.identification.algorithm": value or "none"}


def _convert_keystore_password(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(properties.get("ssl.keystore.type", "")).upper() or _store_type(
        str(properties.get("ssl.keystore.location", ""))
    )
    return {"ssl.key.password" if kind == "PEM" else "ssl.keystore.password": value}


def _convert_buffer_memory(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"queue.buffering.max.kbytes": max(1, int(value) >> 10)}


_CONVERTERS: dict[str, Callable[[Any, Mapping[str, Any]], dict[str, Any]]] = {
    "sasl.jaas.config": _convert_login,
    "ssl.keystore.location": _store_converter("keystore"),
    "ssl.truststore.location": _store_converter("truststore"),
    "ssl.keystore.password": _convert_keystore_password,
    "ssl.keystore.type": _drop,  # read together with the location
    "ssl.truststore.type": _drop,
    "ssl.truststore.password": _drop,  # PEM certificates have no password
    "ssl.endpoint.identification.algorithm": _convert_identification,
    "buffer.memory": _convert_buffer_memory,
}
