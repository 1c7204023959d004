"""Elements on which a call raised. They fail the batch, or become dead letters in a guarded step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.engine.chain.flow import Flow
from penstock.errors import PenstockError
from penstock.functions import DeadLetter
from penstock.runtime.loop.call_site import CallSite
from penstock.time import NO_TIMESTAMP


class RejectedElements:
    """The elements of a flow that one step rejects."""

    def __init__(self, site: CallSite, flow: Flow, guarded: bool) -> None:
        self._site = site
        self._flow = flow
        self.guarded = guarded
        self._dead_letters: list[DeadLetter] = []
        self._at: list[int] = []

    def reject(self, error: Exception, at: int) -> None:
        """Makes a dead letter of the element at an index. Raises if the step is not guarded or the error is not about it."""
        if not self.guarded:
            raise self._site.error(error, **call_details(self._flow, at)) from error
        self._dead_letters.append(self._site.dead_letter(error, **call_details(self._flow, at)))
        self._at.append(at)

    def call_error(self, error: Exception) -> PenstockError:
        """The error to raise for a call that is not about one element."""
        return self._site.error(error)

    def remove_from(self, flow: Flow) -> Flow:
        """A flow of the same elements, without the rejected ones."""
        if not self._at:
            return flow
        rejected = set(self._at)
        accepted = [i for i in range(len(flow.values)) if i not in rejected]
        return flow.derive([flow.values[i] for i in accepted], accepted)

    def dead_letters(self) -> Iterable[Flow]:
        """Yields the flow of the dead letters, if there are any."""
        if self._dead_letters:
            yield self._flow.derive(self._dead_letters, self._at)


def call_details(flow: Flow, at: int) -> dict[str, Any]:
    """What an error reports about the element on which a function raised."""
    origin = flow.origin(at)
    return {
        "element": flow.values[at],
        "origin": origin,
        "timestamp": NO_TIMESTAMP if origin is None else int(flow.base.timestamps[origin[1]]),
    }
