"""How far two elements are apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class DeltaFunction(ABC):
    """Tells how far a new element is from an old one."""

    @abstractmethod
    def get_delta(self, old_data_point: Any, new_data_point: Any) -> float: ...


def delta_of(function: DeltaFunction | Callable[[Any, Any], float]) -> Callable[[Any, Any], float]:
    """A delta function, or any function of two elements, as something to call.

    >>> delta_of(lambda old, new: new - old)(1, 4)
    3
    """
    return function.get_delta if isinstance(function, DeltaFunction) else function
