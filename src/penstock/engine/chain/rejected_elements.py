"""Elements of a flow on which calls raise: an error, or dead letters of a step that puts them aside."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.engine.flow import Flow
from penstock.errors import PenstockError
from penstock.functions import DeadLetter
from penstock.runtime.call_site import CallSite
from penstock.time import NO_TIMESTAMP


class Aside:
    """What becomes of the elements that a step refuses."""

    def __init__(self, site: CallSite, flow: Flow, guarded: bool) -> None:
        self._site = site
        self._flow = flow
        self.guarded = guarded
        self._letters: list[DeadLetter] = []
        self._at: list[int] = []

    def refuse(self, error: Exception, at: int) -> None:
        """Puts an element aside, by its index; raises when the step does not do that, or the error is not about it."""
        if not self.guarded:
            raise self._site.error(error, **known_of(self._flow, at)) from error
        self._letters.append(self._site.letter(error, **known_of(self._flow, at)))
        self._at.append(at)

    def failure(self, error: Exception) -> PenstockError:
        """The error to raise from one of a call that was not about one element."""
        return self._site.error(error)

    def without(self, flow: Flow) -> Flow:
        """What is left of a flow of the same elements."""
        if not self._at:
            return flow
        refused = set(self._at)
        rest = [i for i in range(len(flow.values)) if i not in refused]
        return flow.derive([flow.values[i] for i in rest], rest)

    def letters(self) -> Iterable[Flow]:
        """The dead letters, as a flow of their own; nothing where there are none."""
        if self._letters:
            yield self._flow.derive(self._letters, self._at)


def known_of(flow: Flow, at: int) -> dict[str, Any]:
    """What is known of an element on which a function raised."""
    origin = flow.origin(at)
    return {
        "element": flow.values[at],
        "origin": origin,
        "timestamp": NO_TIMESTAMP if origin is None else int(flow.base.timestamps[origin[1]]),
    }
