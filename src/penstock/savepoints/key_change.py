"""Operators' keys that a job declares otherwise than the savepoint that it starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.runtime.evolution.key_change import UNDECLARED, KeyComparison, MakeKey, compare_key_types
from penstock.runtime.evolution.shape import Shape, shape_of_plain
from penstock.types import TypeInformation


@dataclass(frozen=True, slots=True)
class KeyChange:
    """The types of an operator's keys, before and now. It can be pickled with the program's functions (cloudpickle)."""

    saved: Any  # a shape as JSON has it; None: no type was declared
    wanted: TypeInformation

    @property
    def shape(self) -> Shape:
        """Of the saved keys."""
        return UNDECLARED if self.saved is None else shape_of_plain(self.saved)

    def compared(self) -> KeyComparison:
        return compare_key_types(self.shape, self.wanted)

    def maker(self) -> MakeKey:
        """What makes a new key of an old one's bytes."""
        make = self.compared().make
        assert make is not None  # others are not kept as changes
        return make


KeyChanges = dict[str, KeyChange]  # by the operator's uid: keys that are rewritten when slots load them
