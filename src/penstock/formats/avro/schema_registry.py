"""Schema registries, which map schema ids in messages to Avro schemas."""

from __future__ import annotations

import base64
import importlib
import json
from pathlib import Path
from typing import Any

from penstock.errors import ConfigError
from penstock.redaction import register_secret

MAGIC = b"\0"


class SchemaRegistry:
    """Base class of schema registries. Callers cache the schemas."""

    def schema(self, number: int) -> str:
        """Returns the schema with this id. Raises KeyError if it is unknown."""
        raise NotImplementedError

    def register(self, subject: str, schema: str) -> int:
        """Returns the id of a schema. Registers the schema if it is unknown."""
        raise NotImplementedError


class InMemoryRegistry(SchemaRegistry):
    """A registry in memory, for tests and for a fixed set of schemas.

    >>> registry = InMemoryRegistry({7: '"string"'})
    >>> registry.schema(7), registry.register("words", '"string"'), registry.register("numbers", '"long"')
    ('"string"', 7, 8)
    """

    def __init__(self, schemas: dict[int, str] | None = None) -> None:
        self.schemas = dict(schemas or {})

    def schema(self, number: int) -> str:
        return self.schemas[number]

    def register(self, subject: str, schema: str) -> int:
        for number, known in self.schemas.items():
            if json.loads(known) == json.loads(schema):
                return number
        number = max(self.schemas, default=0) + 1
        self.schemas[number] = schema
        return number


class FileRegistry(SchemaRegistry):
    """A read-only registry in a folder with one file per schema. For example, 7.avsc has the id 7."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder).absolute()

    def schema(self, number: int) -> str:
        try:
            return (self._folder / f"{number}.avsc").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise KeyError(number) from None

    def register(self, subject: str, schema: str) -> int:
        for path in sorted(self._folder.glob("*.avsc")):
            if path.stem.isdigit() and json.loads(path.read_text(encoding="utf-8")) == json.loads(schema):
                return int(path.stem)
        raise ConfigError(
            "SCHEMA_NOT_REGISTERED",
            f"The schema of '{subject}' is not in the folder {self._folder}. Add it as a file ID.avsc with a new id.",
        )


class HttpRegistry(SchemaRegistry):
    """A server with the REST API of the Confluent schema registry. `password` is a Secret or a str."""

    def __init__(self, url: str, user: str | None = None, password: Any = None, timeout: float = 10.0) -> None:
        self._url = url.rstrip("/")
        self._user = user
        self._password = password
        self._timeout = timeout
        if isinstance(password, str):
            register_secret(password)

    def schema(self, number: int) -> str:
        try:
            schema: str = self._request(f"/schemas/ids/{number}")["schema"]
        except Exception as error:
            if getattr(error, "code", None) == 404:
                raise KeyError(number) from None
            raise self._error(error) from None
        return schema

    def register(self, subject: str, schema: str) -> int:
        try:
            return int(self._request(f"/subjects/{subject}/versions", {"schema": schema})["id"])
        except Exception as error:
            raise self._error(error) from None

    def _request(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/vnd.schemaregistry.v1+json"
        if self._user is not None:
            password = self._password.reveal() if hasattr(self._password, "reveal") else self._password or ""
            headers["Authorization"] = "Basic " + base64.b64encode(f"{self._user}:{password}".encode()).decode()
        http = importlib.import_module("urllib.request")  # slow to import, and most jobs have no registry
        request = http.Request(self._url + path, data, headers)
        with http.urlopen(request, timeout=self._timeout) as response:
            result: dict[str, Any] = json.load(response)
        return result

    def _error(self, error: Exception) -> ConfigError:
        return ConfigError(
            "SCHEMA_REGISTRY",
            f"The request to the schema registry at {self._url} failed: {error}. Check its address, user and password.",
        )


def to_registry(registry: Any) -> SchemaRegistry:
    """Returns the registry of an argument: a SchemaRegistry, a dict of schemas by id, a folder, or the URL of a server.

    >>> type(to_registry("http://127.0.0.1:8081")).__name__
    'HttpRegistry'
    """
    if isinstance(registry, SchemaRegistry):
        return registry
    if isinstance(registry, dict):
        return InMemoryRegistry(registry)
    if isinstance(registry, str) and registry.startswith(("http://", "https://")):
        return HttpRegistry(registry)
    if isinstance(registry, (str, Path)):
        return FileRegistry(registry)
    raise ConfigError(
        "SCHEMA_REGISTRY",
        f"{registry!r:.80} is not a schema registry; expected a SchemaRegistry, a dict, a folder or a URL.",
    )
