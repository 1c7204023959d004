"""Pickles elements, keys and state values for processes and later runs of the same program."""

from __future__ import annotations

import io
import pickle
from typing import Any

from penstock.runtime.user_classes import active_classes, find_class


def dumps(value: Any) -> bytes:
    """Pickles a value. `pickle.loads` reads it in every process that has the program.

    Objects whose class cannot be imported are pickled with the name of the class in the program. This takes longer, so it is
    only tried if the usual way fails.

    >>> pickle.loads(dumps(("a", 1)))
    ('a', 1)
    """
    try:
        return pickle.dumps(value, 5)
    except Exception:
        buffer = io.BytesIO()
        _NamePickler(buffer).dump(value)
        return buffer.getvalue()


class _NamePickler(pickle.Pickler):
    """Pickles classes that the program contains by value with their names in the program."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, 5)
        self._name_of = active_classes().name_of

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and (name := self._name_of(obj)) is not None:
            return find_class, (name,)
        return NotImplemented
