"""Kafka behind TLS and a password: certificates are made by the test, and options have Java's names, as in Flink's programs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors import WriteTask
from penstock.connectors.kafka import DeliveryGuarantee
from penstock.errors import PenstockError
from tests.connectors.kafka.jobs import LATEST, builder, read_all
from tests.connectors.kafka.writing import sink_to, write
from tests.servers import Kafka

pytestmark = pytest.mark.long

PASSWORD = "sesame-street"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
KEYTOOL = shutil.which("keytool") or "keytool"


def keytool(*arguments: str) -> None:
    subprocess.run([KEYTOOL, *arguments, "-storepass", PASSWORD], check=True, capture_output=True)


class Secured:
    """A broker that talks TLS only and wants a password."""

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
                "sasl.enabled.mechanisms": "PLAIN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "listener.name.plaintext.plain.sasl.jaas.config": users,
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": str(store),
                "ssl.keystore.password": PASSWORD,
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(self.authority),
                "auto.create.topics.enable": "true",
            }
        )

    def options(self, **others: str) -> dict[str, str]:
        """As a Flink program gives them."""
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
    made = Secured(tmp_path_factory.mktemp("certificates"))
    yield made
    made.kafka.stop()


def send(secured: Secured, topic: str, values: list[str], options: dict[str, str]) -> None:
    sink = sink_to(secured.kafka.bootstrap, topic, DeliveryGuarantee.EXACTLY_ONCE, **options)
    write(sink, WriteTask(0, 0, "0.0", "lineage"), values)


def read(secured: Secured, topic: str, options: dict[str, str]) -> list[Any]:
    source = builder(secured.kafka, topic).set_bounded(LATEST)
    for name, value in options.items():
        source.set_property(name, value)
    return read_all(source.build())


def test_records_go_there_and_back(secured: Secured) -> None:
    values = [f"value {n}" for n in range(500)]
    send(secured, "letters", values, secured.options())
    assert sorted(read(secured, "letters", secured.options())) == sorted(values)


def test_a_wrong_password_is_told_and_not_shown(secured: Secured) -> None:
    wrong = secured.options(sasl_jaas_config=f'{LOGIN} username="app" password="open-barley";')
    for attempt in (lambda: read(secured, "letters", wrong), lambda: send(secured, "letters", ["a"], wrong)):
        with pytest.raises(PenstockError, match="KAFKA_CREDENTIALS") as error:
            attempt()
        assert "open-barley" not in str(error.value)


def test_a_broker_that_nobody_vouches_for_is_refused(secured: Secured, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    store = ("-alias", "other", "-keystore", str(tmp_path / "other.p12"))
    keytool("-genkeypair", "-keyalg", "RSA", "-dname", "CN=other", "-storetype", "PKCS12", *store)
    keytool("-exportcert", "-rfc", *store, "-file", str(other))
    with pytest.raises(PenstockError, match="KAFKA_") as error:
        read(secured, "letters", secured.options(ssl_truststore_location=str(other)))
    assert "certificate" in str(error.value).lower()
