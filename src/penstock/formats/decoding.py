"""Decodes batches of messages and separates messages that cannot be decoded. Used by all sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import ConfigError
from penstock.formats.bad_record import BadRecord
from penstock.formats.schema import DeserializationSchema

DescribeMessage = Callable[[int], tuple[int, dict[str, Any]]]  # index of a message -> its position and metadata


@dataclass(slots=True)
class Decoded:
    """The result of decoding a batch of messages."""

    values: list[Any]
    kept_indices: list[int] | None = None  # index of the message of each value; None if all messages have a value
    bad: list[BadRecord] = field(default_factory=list)
    skipped: int = 0  # messages without an element, and messages that the schema ignores

    def of(self, column: Sequence[Any]) -> Sequence[Any]:
        """Selects the entries of a per-message column that belong to the values."""
        return column if self.kept_indices is None else [column[i] for i in self.kept_indices]


class Decoding:
    """Decodes batches of messages with a schema. Processes single messages only if a batch contains a bad one.

    >>> from penstock.formats.strings import SimpleStringSchema
    >>> decoded = Decoding(SimpleStringSchema()).decode([b"a", b"\\xff", b"b"], lambda i: (10 + i, {"offset": 10 + i}))
    >>> decoded.values, decoded.kept_indices, [bad.position for bad in decoded.bad]
    (['a', 'b'], [0, 2], [11])
    """

    def __init__(self, schema: DeserializationSchema[Any]) -> None:
        self.schema = schema

    def decode(self, messages: Sequence[Any], describe: DescribeMessage) -> Decoded:
        """Decodes a batch of messages."""
        try:
            values = self._decode_all(messages)
            if not (self.schema.drops_none and any(value is None for value in values)):
                return Decoded(values)
        except ConfigError:
            raise  # an error of the schema, not of a message
        except Exception:
            values = []
        return self._decode_around_errors(messages, describe)

    def _decode_all(self, messages: Sequence[Any]) -> list[Any]:
        values = self.schema.decode(messages)
        if len(values) != len(messages):
            raise ConfigError(
                "DECODER_COUNT",
                f"{type(self.schema).__name__}.decode returned {len(values)} elements for {len(messages)} messages; expected "
                "one per message, or None for a message without an element. To drop or multiply elements, use flat_map.",
            )
        return values

    def _decode_around_errors(self, messages: Sequence[Any], describe: DescribeMessage) -> Decoded:
        decoded: list[tuple[int, Any]] = []
        bad: list[BadRecord] = []
        # A message of None has no value, such as a tombstone.
        present = [i for i, message in enumerate(messages) if message is not None]
        self._decode_by_halves(messages, present, describe, decoded, bad)
        if self.schema.drops_none:
            decoded = [(at, value) for at, value in decoded if value is not None]
        skipped = len(messages) - len(decoded) - len(bad)
        if self.schema.ignores_errors:
            skipped, bad = skipped + len(bad), []
        return Decoded([value for _, value in decoded], [at for at, _ in decoded], bad, skipped)

    def _decode_by_halves(
        self,
        messages: Sequence[Any],
        at: list[int],
        describe: DescribeMessage,
        decoded: list[tuple[int, Any]],
        bad: list[BadRecord],
    ) -> None:
        """Decodes some messages. If that fails, decodes each half, so that a few bad messages cost little time."""
        if not at:
            return
        try:
            decoded += zip(at, self._decode_all([messages[i] for i in at]), strict=True)
        except ConfigError:
            raise
        except Exception as error:
            if len(at) == 1:
                position, metadata = describe(at[0])
                bad.append(BadRecord(position, bytes(messages[at[0]]), error, metadata))
                return
            half = len(at) // 2
            self._decode_by_halves(messages, at[:half], describe, decoded, bad)
            self._decode_by_halves(messages, at[half:], describe, decoded, bad)
