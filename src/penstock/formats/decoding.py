"""Decodes a batch of messages and sorts out those that do not decode: the same for every source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import ConfigError
from penstock.formats.bad_record import BadRecord
from penstock.formats.schema import DeserializationSchema

PlaceOf = Callable[[int], tuple[int, dict[str, Any]]]  # of a message by its index: its position, and facts that tell it


@dataclass(slots=True)
class Decoded:
    """What came of a batch of messages."""

    values: list[Any]
    kept_indices: list[int] | None = None  # the messages that the values were in; None: all of them, in their order
    bad: list[BadRecord] = field(default_factory=list)
    skipped: int = 0  # messages without an element, and those that the schema itself ignores

    def of(self, column: Sequence[Any]) -> Sequence[Any]:
        """Of a column with an entry for each message: those of the values."""
        return column if self.kept_indices is None else [column[i] for i in self.kept_indices]


class Decoding:
    """Decodes batches of messages by a schema. Nothing is done message by message until one does not decode.

    >>> from penstock.formats.strings import SimpleStringSchema
    >>> decoded = Decoding(SimpleStringSchema()).decode([b"a", b"\\xff", b"b"], lambda i: (10 + i, {"offset": 10 + i}))
    >>> decoded.values, decoded.kept_indices, [bad.position for bad in decoded.bad]
    (['a', 'b'], [0, 2], [11])
    """

    def __init__(self, schema: DeserializationSchema[Any]) -> None:
        self.schema = schema

    def decode(self, messages: Sequence[Any], place_of: PlaceOf) -> Decoded:
        """All elements, and what is known of the messages that have none."""
        try:
            values = self._decoded(messages)
            if not (self.schema.drops_none and any(value is None for value in values)):
                return Decoded(values)
        except ConfigError:
            raise  # about the schema, not about a message
        except Exception:
            values = []
        return self._sorted_out(messages, place_of)

    def _decoded(self, messages: Sequence[Any]) -> list[Any]:
        values = self.schema.decode(messages)
        if len(values) != len(messages):
            raise ConfigError(
                "DECODER_COUNT",
                f"{type(self.schema).__name__}.decode made {len(values)} elements of {len(messages)} messages; it must make one "
                "for each, None for a message without one. Filter and multiply in flat_map.",
            )
        return values

    def _sorted_out(self, messages: Sequence[Any], place_of: PlaceOf) -> Decoded:
        found: list[tuple[int, Any]] = []
        bad: list[BadRecord] = []
        # A message that is None is one without a value, such as a tombstone.
        present = [i for i, message in enumerate(messages) if message is not None]
        self._halve(messages, present, place_of, found, bad)
        if self.schema.drops_none:
            found = [(at, value) for at, value in found if value is not None]
        skipped = len(messages) - len(found) - len(bad)
        if self.schema.ignores_errors:
            skipped, bad = skipped + len(bad), []
        return Decoded([value for _, value in found], [at for at, _ in found], bad, skipped)

    def _halve(
        self,
        messages: Sequence[Any],
        at: list[int],
        place_of: PlaceOf,
        found: list[tuple[int, Any]],
        bad: list[BadRecord],
    ) -> None:
        """Decodes some messages, by halves where that fails, so that a few bad ones cost little."""
        if not at:
            return
        try:
            found += zip(at, self._decoded([messages[i] for i in at]), strict=True)
        except ConfigError:
            raise
        except Exception as error:
            if len(at) == 1:
                position, facts = place_of(at[0])
                bad.append(BadRecord(position, bytes(messages[at[0]]), error, facts))
                return
            half = len(at) // 2
            self._halve(messages, at[:half], place_of, found, bad)
            self._halve(messages, at[half:], place_of, found, bad)
