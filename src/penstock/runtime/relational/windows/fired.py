"""Up to which clock windows have fired, for windows that share slices."""

from __future__ import annotations

from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.relational.keys import encode_keys
from penstock.runtime.relational.state.keyed_table import KeyedTable
from penstock.runtime.relational.state.row_codec import pack, unpack
from penstock.runtime.relational.windows.due import WindowClock
from penstock.time import MIN_WATERMARK


class FiredClock:
    """The clock of the last windows that fired.

    In event time it is the watermark, which restarts from its last value. The last processing time of an operator is not known
    after a restart, so it is state.
    """

    def __init__(self, context: OperatorContext, clock: WindowClock) -> None:
        self._event_time = clock.event_time
        self._last = MIN_WATERMARK
        if not clock.event_time:
            self._table = KeyedTable(context, "fired", "clock")
            self._entry = self._table.prefixes(encode_keys([], [], 1))[0]

    def begin(self, before: int) -> None:
        """Starts a batch, given the clock before it."""
        self._last = before if self._event_time else self.stored()

    def stored(self) -> int:
        """Returns the last processing time at which windows fired."""
        value = self._table.get(self._entry)
        return MIN_WATERMARK if value is None else int(unpack(value))

    def get(self) -> int:
        """Returns the clock up to which windows have fired."""
        return self._last

    def set(self, clock: int) -> None:
        """Remembers in this batch that all windows up to a clock have fired."""
        self._last = clock

    def store(self) -> None:
        """Remembers it in state. Needed if windows may have fired whose slices stay."""
        if not self._event_time:
            self._table.put(self._entry, pack(self._last))
