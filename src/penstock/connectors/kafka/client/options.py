"""Options of Kafka clients: users have them under the names of Kafka's Java client, and the client here is librdkafka."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal

from penstock.connectors.kafka.option_names import CONSUMER_ONLY, KNOWN, PRODUCER_ONLY, WITHOUT_MEANING
from penstock.connectors.secret import Secret, with_secrets
from penstock.errors import ConfigError, OptionIgnored, UnsupportedOperation

Role = Literal["consumer", "producer"]

# Java's name: librdkafka's, where only the name differs.
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "sasl.mechanism": "sasl.mechanisms",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
_RENAMED_OF_CONSUMERS = {"request.timeout.ms": "socket.timeout.ms"}
_RENAMED_OF_PRODUCERS = {"max.request.size": "message.max.bytes"}


def client_options(properties: Mapping[str, Any], role: Role) -> dict[str, Any]:
    """The options for librdkafka; those that are secret as Secrets.

    >>> client_options({"fetch.max.wait.ms": "100", "sasl.password": "sesame"}, "consumer")
    {'fetch.wait.max.ms': '100', 'sasl.password': Secret('***')}
    """
    other = PRODUCER_ONLY if role == "consumer" else CONSUMER_ONLY
    renamed = {**_RENAMED, **(_RENAMED_OF_CONSUMERS if role == "consumer" else _RENAMED_OF_PRODUCERS)}
    made: dict[str, Any] = {}
    for name, value in properties.items():
        if name in _TRANSLATED:
            made.update(_TRANSLATED[name](value, properties))
        elif name in WITHOUT_MEANING:
            warnings.warn(
                f"The Kafka option {name} has no effect: it {WITHOUT_MEANING[name]}.", OptionIgnored, stacklevel=2
            )
        elif name in other and name not in renamed:
            continue  # programs give one set of properties to both sides
        elif name in renamed:
            made[renamed[name]] = _plain(value)
        elif name in KNOWN:
            made[name] = _plain(value)
        else:
            raise _unknown(name)
    return with_secrets(made)


def _plain(value: Any) -> Any:
    """Java's properties are texts; Python's True is not what librdkafka reads."""
    return str(value).lower() if isinstance(value, bool) else value


def _unknown(name: str) -> ConfigError:
    near = difflib.get_close_matches(name, [*KNOWN, *_RENAMED, *_TRANSLATED], 1)
    meant = f" Did you mean {near[0]}?" if near else " Correct the name, or leave it out."
    return ConfigError(
        "KAFKA_OPTION",
        f"{name} is no option of a Kafka client: neither Kafka's Java client nor librdkafka, which is used here, has it.{meant}",
    )


# -- options that are more than a name

_JAAS = re.compile(r"^\s*(?P<module>[\w.$]+)\s+\w+\s*(?P<rest>.*?);?\s*$", re.DOTALL)
_JAAS_FIELD = re.compile(r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|(\S+))")


def _login(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    """User and password of Java's login module."""
    found = _JAAS.match(value.reveal() if isinstance(value, Secret) else str(value))
    module = "" if found is None else found["module"].rpartition(".")[2]
    if found is None or module not in _MODULES:
        raise ConfigError(
            "KAFKA_LOGIN",
            f"sasl.jaas.config has the login module '{module or '?'}'; understood are {', '.join(_MODULES)}. For others set "
            "librdkafka's own options: sasl.mechanisms with sasl.kerberos.* or sasl.oauthbearer.*.",
        )
    fields = {
        name: re.sub(r"\\(.)", r"\1", double or single or bare)
        for name, double, single, bare in _JAAS_FIELD.findall(found["rest"])
    }
    if not {"username", "password"} <= set(fields):
        raise ConfigError(
            "KAFKA_LOGIN",
            "sasl.jaas.config has no username and password. Write "
            f'{found["module"]} required username="..." password="...";',
        )
    made: dict[str, Any] = {"sasl.username": fields["username"], "sasl.password": Secret(fields["password"])}
    if "sasl.mechanism" not in properties and "sasl.mechanisms" not in properties:
        made["sasl.mechanisms"] = _MODULES[module]
    return made


_MODULES = {"PlainLoginModule": "PLAIN", "ScramLoginModule": "SCRAM-SHA-512"}


def _store(side: Literal["keystore", "truststore"]) -> Callable[[Any, Mapping[str, Any]], dict[str, Any]]:
    def made(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
        kind = str(properties.get(f"ssl.{side}.type", "")).upper() or _kind_of(str(value))
        if kind == "PEM":
            return {"ssl.ca.location" if side == "truststore" else "ssl.certificate.location": value}
        if kind == "PKCS12" and side == "keystore":
            return {"ssl.keystore.location": value}
        raise UnsupportedOperation(
            "KAFKA_STORE",
            f"ssl.{side}.location is {value}, of type {kind}; librdkafka reads PEM files, and PKCS12 for the keystore. Convert "
            f"it, for example by `keytool -importkeystore -deststoretype PKCS12` and `openssl pkcs12`, and set ssl.{side}.type.",
        )

    return made


def _kind_of(path: str) -> str:
    end = path.rpartition(".")[2].lower()
    return {"pem": "PEM", "crt": "PEM", "cer": "PEM", "p12": "PKCS12", "pfx": "PKCS12"}.get(end, "JKS")


def _nothing(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _identification(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Java turns the check of host names off by an empty text."""
    return {"ssl.endpoint.identification.algorithm": value or "none"}


def _keystore_password(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(properties.get("ssl.keystore.type", "")).upper() or _kind_of(
        str(properties.get("ssl.keystore.location", ""))
    )
    return {"ssl.key.password" if kind == "PEM" else "ssl.keystore.password": value}


def _buffer(value: Any, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"queue.buffering.max.kbytes": max(1, int(value) >> 10)}


_TRANSLATED: dict[str, Callable[[Any, Mapping[str, Any]], dict[str, Any]]] = {
    "sasl.jaas.config": _login,
    "ssl.keystore.location": _store("keystore"),
    "ssl.truststore.location": _store("truststore"),
    "ssl.keystore.password": _keystore_password,
    "ssl.keystore.type": _nothing,  # read with the location
    "ssl.truststore.type": _nothing,
    "ssl.truststore.password": _nothing,  # certificates in PEM have none
    "ssl.endpoint.identification.algorithm": _identification,
    "buffer.memory": _buffer,
}
