"""How the accumulators of a changed aggregate follow from those of the old one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from penstock.runtime.relational.aggregates.accumulators import AggregateSet
from penstock.runtime.relational.evolution.meaning import OperatorMeaning
from penstock.runtime.relational.evolution.widening import keeps_values
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.state.row_codec import pack
from penstock.types.logical.kinds import BIGINT

_HIDDEN_COUNT = AggregateCall("COUNT", (), (), BIGINT)  # of window aggregates over changelogs


class FieldSource(msgspec.Struct, frozen=True, array_like=True):
    """Where a field of an accumulator comes from: the position in the old one, or -1 and the value of an empty accumulator."""

    position: int = -1
    initial: bytes = b"\xc0"


class SlotSource(msgspec.Struct, frozen=True, array_like=True):
    """Where a multiset comes from: the number of the old one. bits: for masks of filters, the old bit of each new one, or -1."""

    slot: int
    bits: tuple[int, ...] = ()


@dataclass(slots=True)
class AccumulatorChange:
    """The fields and multisets of the new accumulators, and what is added and dropped."""

    fields: list[FieldSource] = field(default_factory=list)
    slots: list[SlotSource] = field(default_factory=list)  # one per new multiset; slot -1 starts empty
    added: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    same: bool = True  # the stored form is the same
    old_width: int = 0  # how many fields the old accumulators have

    @property
    def keeps_any(self) -> bool:
        """Whether any aggregate continues."""
        return not self.added or any(f.position >= 0 for f in self.fields)


def accumulator_change(old: OperatorMeaning, new: OperatorMeaning) -> AccumulatorChange:
    """Compares the aggregates of two operators by what they mean."""
    before, after = _Stored(old), _Stored(new)
    change = AccumulatorChange(old_width=before.width)
    used: set[int] = set()
    for number, text in enumerate(after.texts):
        source = before.find(text, after, number)
        width = len(after.initial(number))
        if source is None:
            change.added.append(text)
            change.fields += [FieldSource(-1, pack(value)) for value in after.initial(number)]
        else:
            used.add(source)
            start = before.start(source)
            change.fields += [FieldSource(start + i) for i in range(width)]
    change.dropped = [text for number, text in enumerate(before.texts) if number not in used]
    kept = {after.texts[n] for n in range(len(after.texts))} - set(change.added)
    change.slots = [_slot_source(one, before.slots, kept) for one in after.slots]
    same_fields = [f.position for f in change.fields] == list(range(before.width))
    same_slots = [s.slot for s in change.slots] == list(range(len(before.slots)))
    same_bits = all(s.bits == tuple(range(len(s.bits))) for s in change.slots)
    change.same = same_fields and same_slots and same_bits and before.filters == after.filters
    return change


@dataclass(frozen=True, slots=True)
class _Slot:
    """A multiset: what its values are, the filters whose bits its counts have, and the calls that use it."""

    text: str
    filters: tuple[str, ...] = ()
    calls: frozenset[str] = frozenset()


class _Stored:
    """The stored accumulators of an operator."""

    def __init__(self, meaning: OperatorMeaning) -> None:
        self._input = meaning.inputs[0]
        insert_only = self._input.insert_only
        hidden = meaning.kind == "window_aggregate" and not insert_only
        self.calls = [*meaning.calls, *([_HIDDEN_COUNT] if hidden else [])]
        self.texts = [*meaning.call_texts, *(["number of rows"] if hidden else [])]
        self._set: Any = AggregateSet(self.calls, self._input.types, insert_only)
        self._starts = [0]
        for call in self._set._calls:
            self._starts.append(self._starts[-1] + len(call.accumulator.initial))
        self.slots = self._slots()
        self.filters = [slot.filters for slot in self.slots]

    @property
    def width(self) -> int:
        return self._starts[-1]

    def start(self, number: int) -> int:
        return self._starts[number]

    def initial(self, number: int) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self._set._calls[number].accumulator.initial
        return found

    def find(self, text: str, other: _Stored, number: int) -> int | None:
        """The number of the call with this text whose accumulator another operator can use."""
        for own, known in enumerate(self.texts):
            mine, theirs = self._set._calls[own].accumulator, other._set._calls[number].accumulator
            types = zip(self.calls[own].argument_types, other.calls[number].argument_types, strict=False)
            if known == text and type(mine) is type(theirs) and len(mine.initial) == len(theirs.initial):
                return own if all(keeps_values(a, b) for a, b in types) else None
        return None

    def _slots(self) -> list[_Slot]:
        columns = self._input.columns
        found = []
        for number, distinct in enumerate(self._set._distinct):
            filters = tuple("" if f is None else columns[f] for f in distinct.filters)
            users = {
                text
                for call, text in zip(self._set._calls, self.texts, strict=True)
                if call.distinct is not None and call.distinct[0] == number
            }
            text = f"distinct {', '.join(columns[i] for i in distinct.arguments)}"
            if not self._input.insert_only:  # counts instead of masks
                text, filters = f"{text} {filters}", ()
            found.append(_Slot(text, filters, frozenset(users)))
        for call, text in zip(self._set._calls, self.texts, strict=True):
            if call.multiset is not None:
                found.append(_Slot(text, (), frozenset((text,))))
        return found


def _slot_source(slot: _Slot, before: list[_Slot], kept: set[str]) -> SlotSource:
    """A multiset whose calls all start empty must start empty, too."""
    if not slot.calls & kept:
        return SlotSource(-1)
    for number, known in enumerate(before):
        if known.text == slot.text:
            bits = tuple(known.filters.index(f) if f in known.filters else -1 for f in slot.filters)
            return SlotSource(number, bits)
    return SlotSource(-1)
