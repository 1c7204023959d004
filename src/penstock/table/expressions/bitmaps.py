"""Methods of bitmaps, which are sets of 32-bit integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.expressions.base import ExpressionBase

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression


class Bitmaps(ExpressionBase):
    """Sets of integers, and aggregates of them."""

    def bitmap_and(self, bitmap2: object) -> Expression[Any]:
        """The numbers in both sets."""
        return self._call("BITMAP_AND", "BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: object) -> Expression[Any]:
        """The numbers of this set that are not in the other one."""
        return self._call("BITMAP_ANDNOT", "BITMAP_ANDNOT", bitmap2)

    def bitmap_or(self, bitmap2: object) -> Expression[Any]:
        """The numbers in one of the sets or in both."""
        return self._call("BITMAP_OR", "BITMAP_OR", bitmap2)

    def bitmap_xor(self, bitmap2: object) -> Expression[Any]:
        """The numbers in one of the sets and not in both."""
        return self._call("BITMAP_XOR", "BITMAP_XOR", bitmap2)

    def bitmap_build(self) -> Expression[Any]:
        """The set of the numbers of an array."""
        return self._call("BITMAP_BUILD", "BITMAP_BUILD")

    def bitmap_cardinality(self) -> Expression[Any]:
        """How many numbers are in the set."""
        return self._call("BITMAP_CARDINALITY", "BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Expression[Any]:
        """The set of its serialized form."""
        return self._call("BITMAP_FROM_BYTES", "BITMAP_FROM_BYTES")

    def bitmap_to_array(self) -> Expression[Any]:
        """The numbers as an array."""
        return self._call("BITMAP_TO_ARRAY", "BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Expression[Any]:
        """The serialized form of the set."""
        return self._call("BITMAP_TO_BYTES", "BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Expression[Any]:
        """The numbers as text."""
        return self._call("BITMAP_TO_STRING", "BITMAP_TO_STRING")

    def bitmap_and_agg(self) -> Expression[Any]:
        """Aggregate: the numbers in all sets."""
        return self._call("BITMAP_AND_AGG", "BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Expression[Any]:
        """Aggregate: how many numbers are in all sets."""
        return self._call("BITMAP_AND_CARDINALITY_AGG", "BITMAP_AND_CARDINALITY_AGG")

    def bitmap_build_agg(self) -> Expression[Any]:
        """Aggregate: the set of all numbers."""
        return self._call("BITMAP_BUILD_AGG", "BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Expression[Any]:
        """Aggregate: how many different numbers there are."""
        return self._call("BITMAP_BUILD_CARDINALITY_AGG", "BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_or_agg(self) -> Expression[Any]:
        """Aggregate: the numbers in any of the sets."""
        return self._call("BITMAP_OR_AGG", "BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Expression[Any]:
        """Aggregate: how many numbers are in any of the sets."""
        return self._call("BITMAP_OR_CARDINALITY_AGG", "BITMAP_OR_CARDINALITY_AGG")

    def bitmap_xor_agg(self) -> Expression[Any]:
        """Aggregate: the numbers in an odd number of sets."""
        return self._call("BITMAP_XOR_AGG", "BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Expression[Any]:
        """Aggregate: how many numbers are in an odd number of sets."""
        return self._call("BITMAP_XOR_CARDINALITY_AGG", "BITMAP_XOR_CARDINALITY_AGG")
