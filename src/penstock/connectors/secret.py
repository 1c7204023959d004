"""A password, a token, a key: used where it is needed, shown nowhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import NoneType
from typing import Any, Self

from penstock.errors import ConfigError
from penstock.redaction import HIDDEN, hide, is_secret

_may_travel: ContextVar[bool] = ContextVar("penstock_secrets_may_travel", default=False)


class Secret:
    """A text that is never shown: not in a repr, an error, a log, a plan, the registry or a checkpoint.

    It travels to the workers inside the job's program, and nowhere else: it cannot be part of an element or of state.

    >>> password = Secret("open sesame")
    >>> password, f"{password}", password.reveal()
    (Secret('***'), '***', 'open sesame')
    """

    __slots__ = ("_kind", "_text")

    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            raise ConfigError(
                "SECRET_TYPE", f"A secret was given a {type(value).__name__}; it is made of text. Pass a str."
            )
        self._kind = "value"
        self._text = value
        hide(value)

    @classmethod
    def from_env(cls, name: str) -> Self:
        """The value of a variable of the environment, read where it is used: on each machine that reads or writes.

        >>> Secret.from_env("KAFKA_PASSWORD")
        Secret.from_env('KAFKA_PASSWORD')
        """
        return cls._of("env", name)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """The text of a file, without the line's end, read where it is used: on each machine that reads or writes.

        >>> Secret.from_file("/run/secrets/kafka")
        Secret.from_file('/run/secrets/kafka')
        """
        return cls._of("file", os.path.abspath(path))

    @classmethod
    def _of(cls, kind: str, text: str) -> Self:
        secret = cls.__new__(cls)
        secret._kind, secret._text = kind, text
        if kind == "value":
            hide(text)
        return secret

    def reveal(self) -> str:
        """The text. Hand it to a client at once; do not keep it."""
        if self._kind == "value":
            return self._text
        text = self._from_env() if self._kind == "env" else self._from_file()
        hide(text)
        return text

    def _from_env(self) -> str:
        try:
            return os.environ[self._text]
        except KeyError:
            raise ConfigError(
                "SECRET_NOT_FOUND",
                f"Secret.from_env('{self._text}'): there is no variable of this name in the environment of the process that uses "
                "it. Set it on every machine that runs the job, or use Secret.from_file.",
            ) from None

    def _from_file(self) -> str:
        try:
            return Path(self._text).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                "SECRET_NOT_FOUND",
                f"Secret.from_file('{self._text}') cannot be read: {type(error).__name__}. Put the file on every machine that "
                "runs the job, readable for the job's user.",
            ) from None

    def __repr__(self) -> str:
        return f"Secret('{HIDDEN}')" if self._kind == "value" else f"Secret.from_{self._kind}({self._text!r})"

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self._kind, self._text) == (other._kind, other._text)

    def __hash__(self) -> int:
        return hash((self._kind, self._text))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        if not _may_travel.get():
            raise ConfigError(
                "SECRET_WRITTEN",
                "A Secret was about to be written out with an element, a key, state or a task of a source. Only sources, sinks and "
                "functions may hold one: keep it in a field of theirs, and reveal it where it is used.",
            )
        return _restored, (type(self), self._kind, self._text)


def _restored(cls: type[Secret], kind: str, text: str) -> Secret:
    return cls._of(kind, text)


@contextmanager
def secrets_may_travel() -> Iterator[None]:
    """While a job's program is pickled: the one way on which secrets reach the workers."""
    token = _may_travel.set(True)
    try:
        yield
    finally:
        _may_travel.reset(token)


def with_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options, those whose names say that they are secret as Secrets, also within others. This is how connectors keep them.

    >>> with_secrets({"sasl.username": "app", "sasl.password": "sesame"})
    {'sasl.username': 'app', 'sasl.password': Secret('***')}
    """
    return {name: _kept(name, value) for name, value in options.items()}


def _kept(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return with_secrets(value)
    return Secret(str(value)) if is_secret(str(name)) and not isinstance(value, (Secret, NoneType)) else value


def revealed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a client wants them: with the texts of their secrets.

    >>> revealed(with_secrets({"sasl.password": "sesame"}))
    {'sasl.password': 'sesame'}
    """
    return {name: _opened(value) for name, value in options.items()}


def _opened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return revealed(value)
    return value.reveal() if isinstance(value, Secret) else value
