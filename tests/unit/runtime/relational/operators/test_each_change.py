"""Operators that must emit every change of a key."""

from __future__ import annotations

from penstock.runtime.relational.specs.operators import EachChangeSpec, NormalizeSpec
from penstock.types.logical.kinds import INT, STRING
from tests.unit.runtime.relational.driver import RelationalSlot

TYPES = (STRING, INT)


def test_updates_within_a_batch_are_not_skipped() -> None:
    inner = NormalizeSpec(input_types=TYPES, output_types=TYPES, keys=(0,), insert_only=False, update_before=False)
    slot = RelationalSlot(EachChangeSpec(input_types=TYPES, output_types=TYPES, keys=(0,), operator=inner))
    out = slot.run([("+U", ("a", 1)), ("+U", ("b", 1)), ("+U", ("a", 2)), ("+U", ("a", 3)), ("-D", ("b", None))])
    assert out == [("+I", ("a", 1)), ("+I", ("b", 1)), ("+U", ("a", 2)), ("+U", ("a", 3)), ("-D", ("b", 1))]
    slot.restart()
    assert slot.run([("+U", ("a", 4))]) == [("+U", ("a", 4))]
