"""Placeholders for names of PyFlink that Penstock does not have. Importing one is possible, using it is not."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.errors import UnsupportedOperation

_PAGE = "docs/reference/parity.md lists what is supported"


class NotInPenstock(UnsupportedOperation, ImportError):  # noqa: N818 - named as UnsupportedOperation is
    """Raised for the use of a module or name of PyFlink that is not supported. It is also an ImportError."""


class MissingName:
    """Stands for a name that is missing. It may be imported, and used in annotations and `isinstance`.

    >>> settings = MissingName("pyflink.table.EnvironmentSettings", "belongs to the Table API")
    >>> settings.in_streaming_mode()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    penstock.pyflink.missing.NotInPenstock: [NOT_IN_PENSTOCK] pyflink.table.EnvironmentSettings belongs to the Table API. docs/...
    """

    def __init__(self, path: str, reason: str) -> None:
        self.__dict__["_missing"] = (path, reason)

    def _raise(self) -> NoReturn:
        path, reason = self.__dict__["_missing"]
        raise NotInPenstock("NOT_IN_PENSTOCK", f"{path} {reason}. {_PAGE}.")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._raise()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # a protocol of Python that the name does not support
            raise AttributeError(name)
        self._raise()

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        self._raise()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> NoReturn:
        self._raise()

    def __iter__(self) -> NoReturn:
        self._raise()

    def __getitem__(self, item: Any) -> MissingName:
        return self

    def __or__(self, other: Any) -> Any:
        return Any

    __ror__ = __or__

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the placeholder for functions that refer to it."""
        return MissingName, self.__dict__["_missing"]

    def __repr__(self) -> str:
        return f"<{self.__dict__['_missing'][0]}, which is not in Penstock>"
