"""A broker that requires a password."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.servers import Kafka

USER, PASSWORD = "application", "right-" + "and-" * 2 + "secret"
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


class GuardedKafka(Kafka):
    """A broker whose listener accepts only SASL/PLAIN."""

    def __init__(self) -> None:
        users = f'user_admin="of-the-broker" user_{USER}="{PASSWORD}"'
        super().__init__(
            {
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
                "inter.broker.listener.name": "PLAINTEXT",
                "sasl.enabled.mechanisms": "PLAIN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "listener.name.plaintext.plain.sasl.jaas.config": (
                    f'{_LOGIN} required username="admin" password="of-the-broker" {users};'
                ),
            }
        )

    @staticmethod
    def login(password: str = PASSWORD, user: str = USER) -> dict[str, str]:
        """Properties with the names of the Java client."""
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{_LOGIN} required username="{user}" password="{password}";',
        }


@pytest.fixture(scope="session")
def guarded_kafka() -> Iterator[GuardedKafka]:
    server = GuardedKafka()
    yield server
    server.stop()
    shutil.rmtree(server.folder, ignore_errors=True)
