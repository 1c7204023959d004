"""A local object store, for file systems without renames and folders."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class ObjectStore:
    """A bucket per test."""

    path: str
    options: dict[str, Any]


@pytest.fixture(scope="session")
def _moto() -> Iterator[dict[str, Any]]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {
        "endpoint_override": f"http://{host}:{port}",
        "access_key": "a-user-of-tests",
        "secret_key": "sesame-of-tests",
        "region": "us-east-1",
    }
    server.stop()


@pytest.fixture
def s3(_moto: dict[str, Any]) -> ObjectStore:
    from pyarrow.fs import S3FileSystem

    bucket = f"bucket-{uuid.uuid4().hex[:8]}"
    S3FileSystem(**_moto, allow_bucket_creation=True).create_dir(bucket)
    return ObjectStore(f"s3://{bucket}", _moto)
