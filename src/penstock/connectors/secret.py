"""Secrets such as passwords and tokens, which are redacted in all output."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import NoneType
from typing import Any, Self

from penstock.errors import ConfigError
from penstock.redaction import HIDDEN, is_secret, register_secret

_pickling_allowed: ContextVar[bool] = ContextVar("penstock_secrets_may_travel", default=False)


class Secret:
    """A string that is redacted in reprs, errors, logs, plans, the registry and checkpoints.

    It is sent to workers only as part of the job's program. It cannot be part of an element or of state.

    >>> password = Secret("open sesame")
    >>> password, f"{password}", password.reveal()
    (Secret('***'), '***', 'open sesame')
    """

    __slots__ = ("_kind", "_text")

    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            raise ConfigError("SECRET_TYPE", f"Secret() got a {type(value).__name__}; expected a str.")
        self._kind = "value"
        self._text = value
        register_secret(value)

    @classmethod
    def from_env(cls, name: str) -> Self:
        """Returns a secret that reads an environment variable on each machine where it is used.

        >>> Secret.from_env("KAFKA_PASSWORD")
        Secret.from_env('KAFKA_PASSWORD')
        """
        return cls._of("env", name)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Returns a secret that reads a file, without the final newline, on each machine where it is used.

        >>> Secret.from_file("/run/secrets/kafka")
        Secret.from_file('/run/secrets/kafka')
        """
        return cls._of("file", os.path.abspath(path))

    @classmethod
    def _of(cls, kind: str, text: str) -> Self:
        secret = cls.__new__(cls)
        secret._kind, secret._text = kind, text
        if kind == "value":
            register_secret(text)
        return secret

    def reveal(self) -> str:
        """Returns the value. Pass it directly to a client, and do not store it."""
        if self._kind == "value":
            return self._text
        text = self._from_env() if self._kind == "env" else self._from_file()
        register_secret(text)
        return text

    def _from_env(self) -> str:
        try:
            return os.environ[self._text]
        except KeyError:
            raise ConfigError(
                "SECRET_NOT_FOUND",
                f"Secret.from_env('{self._text}') failed because this environment variable is not set in the process that uses it. "
                "Set it on every machine that runs the job, or use Secret.from_file.",
            ) from None

    def _from_file(self) -> str:
        try:
            return Path(self._text).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                "SECRET_NOT_FOUND",
                f"Secret.from_file('{self._text}') cannot read the file: {type(error).__name__}. Put the file on every machine "
                "that runs the job, readable by the user of the job.",
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
        if not _pickling_allowed.get():
            raise ConfigError(
                "SECRET_WRITTEN",
                "An element, a key, state or a task of a source contains a Secret, which must not be written. Store the Secret "
                "in a field of a source, sink or function, and call reveal() where it is used.",
            )
        return _unpickle, (type(self), self._kind, self._text)


def _unpickle(cls: type[Secret], kind: str, text: str) -> Secret:
    return cls._of(kind, text)


@contextmanager
def allow_pickling_secrets() -> Iterator[None]:
    """Allows secrets to be pickled. Used only while the program of a job is pickled for the workers."""
    token = _pickling_allowed.set(True)
    try:
        yield
    finally:
        _pickling_allowed.reset(token)


def wrap_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options in which values with secret names, such as passwords, are Secrets, also in nested options.

    >>> wrap_secrets({"sasl.username": "app", "sasl.password": "sesame"})
    {'sasl.username': 'app', 'sasl.password': Secret('***')}
    """
    return {name: _wrap(name, value) for name, value in options.items()}


def _wrap(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return wrap_secrets(value)
    return Secret(str(value)) if is_secret(str(name)) and not isinstance(value, (Secret, NoneType)) else value


def reveal_secrets(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options in which Secrets are replaced by their values, for a client.

    >>> reveal_secrets(wrap_secrets({"sasl.password": "sesame"}))
    {'sasl.password': 'sesame'}
    """
    return {name: _reveal(value) for name, value in options.items()}


def _reveal(value: Any) -> Any:
    if isinstance(value, Mapping):
        return reveal_secrets(value)
    return value.reveal() if isinstance(value, Secret) else value


_OLD_NAMES = {"with_secrets": wrap_secrets, "revealed": reveal_secrets}


def __getattr__(name: str) -> Any:
    """Resolves the names of version 0.1.0.

    .. deprecated:: 0.2 Use `wrap_secrets` and `reveal_secrets`.
    """
    if name not in _OLD_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{name} is deprecated. Use {_OLD_NAMES[name].__name__}.", DeprecationWarning, stacklevel=2)
    return _OLD_NAMES[name]
