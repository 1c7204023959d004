"""Connections to a PostgreSQL database."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.connectors.secret import Secret
from penstock.errors import ConfigError, JobError, PenstockError

_Result = TypeVar("_Result")
_CONNECTIONS: dict[tuple[int, Database], Any] = {}  # by process; they stay open between batches
_DENIED = ("28000", "28P01", "42501")  # SQLSTATE
_POSTGRESQL = {"ApplicationName": "application_name", "connectTimeout": "connect_timeout"}  # names of JDBC


@dataclass(frozen=True)
class Database:
    """Address and credentials of a database, from a URL such as `jdbc:postgresql://host:5432/shop`."""

    host: str
    port: int
    name: str
    user: str | None = None
    password: Secret | None = None
    settings: tuple[tuple[str, str], ...] = ()
    retries: int = 3

    @property
    def address(self) -> str:
        """The address in error messages.

        >>> Database("localhost", 5432, "shop").address
        'localhost:5432/shop'
        """
        return f"{self.host}:{self.port}/{self.name}"

    def run(self, action: Callable[[Any], _Result]) -> _Result:
        """Calls an action with a connection, in one transaction. Repeats it if the connection breaks."""
        driver = library()
        for attempt in range(self.retries + 1):
            try:
                connection = self._connection(driver)
                with connection.transaction():
                    return action(connection)
            except driver.Error as error:
                broken = isinstance(error, driver.OperationalError | driver.InterfaceError)
                if broken:
                    self.disconnect()
                if not broken or attempt == self.retries or (error.sqlstate or "") in _DENIED:
                    raise self._to_penstock_error(driver, error) from None  # the original error may contain the data
                time.sleep(min(0.1 * 2**attempt, 1.0))
        raise AssertionError("unreachable")

    def stream(self, statement: str, values: Sequence[Any], size: int) -> Iterator[list[Any]]:
        """Yields the rows of a query in parts. They stay in the server until they are fetched, by a connection of their own."""
        driver = library()
        try:
            with (
                self._connect(driver) as connection,
                connection.transaction(),
                connection.cursor(name="rows") as cursor,
            ):
                cursor.execute(statement, values)
                while rows := cursor.fetchmany(size):
                    yield rows
        except driver.Error as error:
            raise self._to_penstock_error(driver, error) from None

    def disconnect(self) -> None:
        """Ends the connection of this process."""
        connection = _CONNECTIONS.pop((os.getpid(), self), None)
        if connection is not None:
            connection.close()

    def _connection(self, driver: Any) -> Any:
        key = (os.getpid(), self)
        found = _CONNECTIONS.get(key)
        if found is None or found.closed:
            found = _CONNECTIONS[key] = self._connect(driver)
        return found

    def _connect(self, driver: Any) -> Any:
        return driver.connect(
            host=self.host,
            port=self.port,
            dbname=self.name,
            user=self.user,
            password=None if self.password is None else self.password.reveal(),
            autocommit=True,  # transactions are begun explicitly
            **{"connect_timeout": "30", "application_name": "penstock", **dict(self.settings)},
        )

    def _to_penstock_error(self, driver: Any, error: Any) -> PenstockError:
        message = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        denied = (
            (error.sqlstate or "") in _DENIED or "authentication failed" in message or "no password supplied" in message
        )
        if denied:
            return ConfigError(
                "JDBC_AUTHENTICATION",
                f"PostgreSQL at {self.address} denies access: {message}. Check 'username' and 'password' of the table, and the "
                "permissions of the user.",
            )
        if isinstance(error, driver.OperationalError | driver.InterfaceError):
            return JobError(
                "JDBC_UNREACHABLE",
                f"PostgreSQL at {self.address} cannot be reached: {message}. Check that the server is running and that 'url' is "
                "correct, then resume the job.",
            )
        return JobError(
            "JDBC_REFUSED",
            f"PostgreSQL at {self.address} rejects a statement: {message}. Check 'table-name', and that the names and types of the "
            "columns are those of the table in the database.",
        )


def read_url(url: str, user: str | None, password: str | None, retries: int = 3) -> Database:
    """Reads a JDBC URL. Raises ValueError with the reason.

    >>> read_url("jdbc:postgresql://db/shop?user=ada", None, None)
    Database(host='db', port=5432, name='shop', user='ada', password=None, settings=(), retries=3)
    """
    kind = re.match(r"jdbc:([a-z0-9]+):", url)
    if kind is None or kind[1] != "postgresql":
        what = f"a URL of {kind[1]}" if kind else "no JDBC URL"
        raise ValueError(f"is {what}; expected jdbc:postgresql://host:port/database. Only PostgreSQL is supported.")
    rest = url.removeprefix("jdbc:postgresql:")
    parts = urlsplit(rest if rest.startswith("//") else f"//localhost/{rest}")
    settings = dict(parse_qsl(parts.query))
    user = settings.pop("user", None) if user is None else user
    given = settings.pop("password", None)
    password = given if password is None else password
    known: dict[str, str] = {}
    if settings.pop("ssl", "").lower() == "true":
        known["sslmode"] = "require"
    if (schema := settings.pop("currentSchema", None)) is not None:
        known["options"] = f"-c search_path={schema}"
    for setting, value in settings.items():
        known[_POSTGRESQL.get(setting, setting)] = value
    try:
        port = parts.port or 5432
    except ValueError:
        raise ValueError(f"has the port of '{parts.netloc}', which is no number.") from None
    name = unquote(parts.path.strip("/")) or user
    if not name:
        raise ValueError("names no database; expected jdbc:postgresql://host:port/database.")
    secret = None if password is None else Secret(password)
    return Database(parts.hostname or "localhost", port, name, user, secret, tuple(sorted(known.items())), retries)


def quoted(name: str) -> str:
    """Returns a name of a table or column in quotes. Dots separate the schema from the table.

    >>> quoted("public.my table")
    '"public"."my table"'
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def column_list(names: Sequence[str]) -> str:
    """Returns names of columns in quotes."""
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def library() -> Any:
    """Returns the driver."""
    try:
        import psycopg
    except ImportError:
        raise ConfigError(
            "MISSING_PACKAGE",
            "The connector 'jdbc' needs the package psycopg, which is not installed. Install it with "
            "`pip install 'penstock[postgres]'`.",
        ) from None
    return psycopg
