"""States of operators whose entries have a form of their own."""

from __future__ import annotations

from penstock.runtime.evolution.shape import Shape
from penstock.state import StateDescriptor
from penstock.types import TypeInformation


class OwnFormDescriptor(StateDescriptor):
    """A state whose shape tells what of its entries depends on the program; not for users.

    >>> OwnFormDescriptor("__windows__", "times", Shape("measures", values=["sum(price)"])).shape.short()
    'measures of sum(price)'
    """

    def __init__(self, name: str, kind: str, shape: Shape, value_type: TypeInformation | None = None) -> None:
        super().__init__(name, value_type)
        self.kind = kind
        self.shape = shape
