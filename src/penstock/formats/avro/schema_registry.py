"""Registries of schemas: messages carry the number of the schema that they were written with."""

from __future__ import annotations

import base64
import importlib
import json
from pathlib import Path
from typing import Any

from penstock.errors import ConfigError
from penstock.redaction import hide

MAGIC = b"\0"


class SchemaRegistry:
    """Knows schemas by number. Subclasses say from where; what they are asked for is kept by those who ask."""

    def schema(self, number: int) -> str:
        """The text of a schema. Raises KeyError for a number that is not known."""
        raise NotImplementedError

    def register(self, subject: str, schema: str) -> int:
        """The number of a schema, a new one if it is not known yet."""
        raise NotImplementedError


class InMemoryRegistry(SchemaRegistry):
    """Schemas in a dict by number: for tests, and for those who know all their schemas.

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
    """Schemas in a folder, one file for each: 7.avsc is number 7. Nothing is written there."""

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
            f"The schema of '{subject}' is in no file of {self._folder}. Put it there as NUMBER.avsc, with a number of its own.",
        )


class HttpRegistry(SchemaRegistry):
    """A server with the interface of Confluent's schema registry. `password` is a Secret, or a text."""

    def __init__(self, url: str, user: str | None = None, password: Any = None, timeout: float = 10.0) -> None:
        self._url = url.rstrip("/")
        self._user = user
        self._password = password
        self._timeout = timeout
        if isinstance(password, str):
            hide(password)

    def schema(self, number: int) -> str:
        try:
            found: str = self._asked(f"/schemas/ids/{number}")["schema"]
        except Exception as error:
            if getattr(error, "code", None) == 404:
                raise KeyError(number) from None
            raise self._failed(error) from None
        return found

    def register(self, subject: str, schema: str) -> int:
        try:
            return int(self._asked(f"/subjects/{subject}/versions", {"schema": schema})["id"])
        except Exception as error:
            raise self._failed(error) from None

    def _asked(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/vnd.schemaregistry.v1+json"
        if self._user is not None:
            password = self._password.reveal() if hasattr(self._password, "reveal") else self._password or ""
            headers["Authorization"] = "Basic " + base64.b64encode(f"{self._user}:{password}".encode()).decode()
        http = importlib.import_module("urllib.request")  # takes long to import, and most jobs have no registry
        request = http.Request(self._url + path, data, headers)
        with http.urlopen(request, timeout=self._timeout) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def _failed(self, error: Exception) -> ConfigError:
        return ConfigError(
            "SCHEMA_REGISTRY",
            f"The schema registry at {self._url} did not answer as it should: {error}. Check its address, user and password.",
        )


def registry_of(given: Any) -> SchemaRegistry:
    """A registry as it was given: one, a dict of schemas by number, a folder, or the address of a server.

    >>> type(registry_of("http://127.0.0.1:8081")).__name__
    'HttpRegistry'
    """
    if isinstance(given, SchemaRegistry):
        return given
    if isinstance(given, dict):
        return InMemoryRegistry(given)
    if isinstance(given, str) and given.startswith(("http://", "https://")):
        return HttpRegistry(given)
    if isinstance(given, (str, Path)):
        return FileRegistry(given)
    raise ConfigError(
        "SCHEMA_REGISTRY",
        f"{given!r:.80} is no schema registry; give a SchemaRegistry, a dict, a folder or an address.",
    )
