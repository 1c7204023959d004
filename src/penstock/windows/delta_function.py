"""The distance between two elements, for delta triggers and delta evictors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class DeltaFunction(ABC):
    """Computes the distance between two elements."""

    @abstractmethod
    def get_delta(self, old_data_point: Any, new_data_point: Any) -> float:
        """Returns the distance between an old and a new element."""


def to_delta_callable(function: DeltaFunction | Callable[[Any, Any], float]) -> Callable[[Any, Any], float]:
    """Returns a DeltaFunction, or a function of two elements, as a callable.

    >>> to_delta_callable(lambda old, new: new - old)(1, 4)
    3
    """
    return function.get_delta if isinstance(function, DeltaFunction) else function
