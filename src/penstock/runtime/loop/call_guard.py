"""Loops of operators with `on_error="dead_letter"`: a call that raises leaves nothing but a dead letter.

What it emitted is dropped, and its changes to state and timers are undone. So that they can be, state is written to the
batch's overlay after every call that succeeds, and timers keep a journal of each call. Other operators pay for none of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.functions import DEAD_LETTERS
from penstock.runtime.batch import BatchLoop
from penstock.runtime.operator import Emitted
from penstock.runtime.records import Records
from penstock.runtime.slot import Emissions, SlotLoop
from penstock.runtime.state.cell import NO_KEY
from penstock.runtime.timers import Timer, TimerQueue


class JournaledTimers(TimerQueue):
    """Timers that can forget what was registered and deleted since `mark`."""

    def mark(self) -> None:
        self._journal: list[
            tuple[tuple[int, Any, Any], Any, bool]
        ] = []  # identity, what it was, whether it was deleted

    def register(self, time: int, key: Any, namespace: Any, due: int | None = None) -> None:
        self._note((time, key, namespace))
        super().register(time, key, namespace, due)

    def delete(self, time: int, key: Any, namespace: Any) -> None:
        self._note((time, key, namespace))
        super().delete(time, key, namespace)

    def _note(self, identity: tuple[int, Any, Any]) -> None:
        self._journal.append((identity, self._added.get(identity, _ABSENT), identity in self._deleted))

    def undo(self) -> None:
        """Entries of the heap stay: one whose timer is not registered is passed over."""
        for identity, due, deleted in reversed(self._journal):
            if due is _ABSENT:
                self._added.pop(identity, None)
            else:
                self._added[identity] = due
            if not deleted:
                self._deleted.discard(identity)
        self.mark()


_ABSENT = object()


class GuardedLoop(SlotLoop):
    """The slot loop of streaming mode, call by call."""

    def _prepare_for(self, records: Records) -> None:
        super()._prepare_for(records)
        self._context.backend.flush()  # so that a call that fails does not undo it

    def _elements(self, records: Records, marks: list[int], out: Emissions) -> None:
        context, cell = self._context, self._context.cell
        effective = records.effective.tolist()
        keys = records.keys or [NO_KEY] * len(records.values)
        for index in range(len(records.values)):
            if effective[index] > context.watermark:
                self._advance(effective[index], marks, out)
            cell.at = keys[index]
            self._guard_element(records, index, out)

    def _guard_element(self, records: Records, index: int, out: Emissions) -> None:
        self._context.index = index
        number = 0 if records.inputs is None else records.inputs[index]
        process, value = self._operator.elements()[number], records.values[index]
        elsewhere = number in getattr(self._operator, "broadcast_inputs", ()) and not self._operator.keeps_output  # type: ignore[attr-defined]
        self._guard(lambda: process(value, self._context), index, lambda: self._known(records, index), out, elsewhere)

    def _fire(self, timer: Timer, domain: int, out: Emissions) -> None:
        """A timer fires once, so an operator that must go on behind a failed one has `on_failed_timer`."""
        context, after = self._context, getattr(self._operator, "on_failed_timer", None)
        known: Callable[[], dict[str, Any]] = lambda: {"key": timer.key, "timer": timer.time}  # noqa: E731
        context.fired = timer
        context.domain = domain
        context.cell.at = timer.key
        emitter = ~(len(out.fired) - 1)
        try:
            if (
                not self._guard(lambda: self._operator.on_timer(timer, context), emitter, known, out)
                and after is not None
            ):
                self._guard(lambda: after(timer, context), emitter, known, out)
        finally:
            context.fired = None

    def _guard(
        self,
        call: Callable[[], Emitted],
        emitter: int,
        known: Callable[[], dict[str, Any]],
        out: Emissions,
        elsewhere: bool = False,
    ) -> bool:
        """One call; whether it succeeded. `elsewhere`: all slots make the same call, and another one tells of it."""
        context, backend = self._context, self._context.backend
        queues = (context.event_timers, context.processing_timers)
        for queue in queues:
            queue.mark()  # type: ignore[attr-defined]
        try:
            emitted = list(call() or ())
            if self.fit is not None:
                emitted = self.fit(emitted)
        except Exception as error:
            letter = self.site.letter(error, **known())
            backend.undo()
            for queue in queues:
                queue.undo()  # type: ignore[attr-defined]
            if elsewhere:
                self.site.letters -= 1
                return False
            out.values.append((DEAD_LETTERS, letter))
            out.emitters.append(emitter)
            return False
        keep = self._keep(out)
        for result in emitted:
            keep(result)
        out.emitters += [emitter] * len(emitted)
        try:
            backend.flush()
        except Exception as error:
            raise self.site.error(error, **known()) from error
        return True


class GuardedBatchLoop(GuardedLoop, BatchLoop):
    """The loop of batch mode, call by call."""

    def _process(self, records: Records, at: range, out: Emissions) -> None:
        for index in at:
            if records.keys is not None:
                self._context.cell.at = records.keys[index]
            self._guard_element(records, index, out)
