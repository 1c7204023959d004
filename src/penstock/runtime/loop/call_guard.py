"""Calls of operators with `on_error="dead_letter"`: a call that raises leaves nothing but a dead letter.

Its emissions are dropped and its changes to state and timers are undone. For that, state is written to the overlay of the batch
after every successful call, and timers keep a journal of each call. Operators without a guard pay for none of this.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.functions import DEAD_LETTERS
from penstock.runtime.loop.call_site import CallSite
from penstock.runtime.loop.element_copy import collect_copies
from penstock.runtime.loop.emissions import Emissions
from penstock.runtime.loop.operator import Emitted, OperatorContext
from penstock.runtime.state.timers import Timer, TimerQueue

CheckEmissions = Callable[[list[Any]], list[Any]]


class JournaledTimers(TimerQueue):
    """A timer queue that can undo the registrations and deletions since `mark`."""

    def mark(self) -> None:
        # Timer identity, its entry before the change, whether it was deleted before.
        self._journal: list[tuple[tuple[int, Any, Any], Any, bool]] = []

    def register(self, time: int, key: Any, namespace: Any, due: int | None = None) -> None:
        self._record((time, key, namespace))
        super().register(time, key, namespace, due)

    def delete(self, time: int, key: Any, namespace: Any) -> None:
        self._record((time, key, namespace))
        super().delete(time, key, namespace)

    def _record(self, identity: tuple[int, Any, Any]) -> None:
        self._journal.append((identity, self.added.get(identity, _ABSENT), identity in self._deleted))

    def undo(self) -> None:
        """Undoes the journal. Heap entries stay, since `pop` skips entries whose timer is not registered."""
        for identity, due, deleted in reversed(self._journal):
            if due is _ABSENT:
                self.added.pop(identity, None)
            else:
                self.added[identity] = due
            if not deleted:
                self._deleted.discard(identity)
        self.mark()


_ABSENT = object()


class PartwiseOperator(ABC):
    """An operator whose timers process several elements. A call that raises must not lose all of them."""

    part_size = 0  # the number of elements of the last part

    @abstractmethod
    def on_timer_part(self, timer: Timer, context: OperatorContext, limit: int) -> Emitted:
        """Processes elements that are due, at most `limit`, and sets `part_size`."""

    @abstractmethod
    def drop_part(self, timer: Timer, context: OperatorContext) -> None:
        """Drops the element for which `on_timer_part` with the limit 1 has failed."""

    @abstractmethod
    def part_details(self, timer: Timer) -> dict[str, Any]:
        """Returns what the dead letter of a failed part reports."""


class CallGuard:
    """Turns calls that raise into dead letters. `check` converts the emissions of a call to their declared type."""

    def __init__(self, context: OperatorContext, check: CheckEmissions | None = None) -> None:
        self._context = context
        self._check = check

    def run(
        self,
        call: Callable[[], Emitted],
        emitter: int,
        site: CallSite,
        details: Callable[[], dict[str, Any]],
        out: Emissions,
        repeats: bool = False,
    ) -> bool:
        """Makes one call and returns whether it succeeded. A failed call that repeats leaves no dead letter."""
        backend = self._context.backend
        queues = (self._context.event_timers, self._context.processing_timers)
        for queue in queues:
            queue.mark()  # type: ignore[attr-defined]
        try:
            emitted = collect_copies(call() or ()) if self._context.copies_elements else list(call() or ())
            if self._check is not None:
                emitted = self._check(emitted)
        except Exception as error:
            letter = None if repeats else site.dead_letter(error, **details())
            backend.undo()
            for queue in queues:
                queue.undo()  # type: ignore[attr-defined]
            if letter is not None:
                out.values.append((DEAD_LETTERS, letter))
                out.emitters.append(emitter)
            return False
        out.values += emitted
        out.emitters += [emitter] * len(emitted)
        try:
            backend.flush()
        except Exception as error:
            raise site.error(error, **details()) from error
        return True

    def run_in_parts(
        self, operator: PartwiseOperator, timer: Timer, emitter: int, site: CallSite, out: Emissions
    ) -> None:
        """Processes all elements of a timer in one call. If it raises, in smaller calls, so that the error costs one element."""
        context, limit = self._context, sys.maxsize

        def process() -> Emitted:
            return operator.on_timer_part(timer, context, limit)

        def details() -> dict[str, Any]:
            return {"key": timer.key, **operator.part_details(timer)}

        while True:
            if self.run(process, emitter, site, details, out, repeats=limit > 1):
                if operator.part_size < limit:
                    return
                limit *= 2
            elif limit > 1:
                limit = max(1, min(limit, operator.part_size) // 2)
            else:
                self._drop_part(operator, timer, site)

    def _drop_part(self, operator: PartwiseOperator, timer: Timer, site: CallSite) -> None:
        """Removes the element that has failed. If that raises too, the error is not about the element, so the job fails."""
        try:
            operator.drop_part(timer, self._context)
            self._context.backend.flush()
        except Exception as error:
            raise site.error(error, key=timer.key, timer=timer.time) from error
