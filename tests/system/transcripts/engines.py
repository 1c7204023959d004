"""What runs a transcript. An engine is one class with one method; a new one is a line in ENGINES."""

from __future__ import annotations

from typing import Protocol

from penstock.testing import Harness
from tests.transcripts.case import FIRST, SINK, Case, Outcome


class Engine(Protocol):
    """Runs a case with some number of slots."""

    def run(self, case: Case, groups: int) -> Outcome: ...


class CrashError(Exception):
    """A batch fails half-way."""


class HarnessEngine:
    """In this process."""

    def run(self, case: Case, groups: int) -> Outcome:
        outcome = Outcome([], [], 0, None)
        harness = self._harness(case, groups)
        for batch in range(len(case.steps())):
            if batch in case.restores:
                saved = harness.snapshot()
                harness = self._harness(case, case.restores[batch]).restore(saved)
                self._note(outcome, harness, [])
            if case.crash and batch == 0:
                self._crash(harness)
            harness.run(max_batches=1)
            self._note(outcome, harness, harness.sink(SINK).take())
        outcome.late_records = harness.late_records()
        outcome.next_wake = harness.next_wake()
        return outcome

    @staticmethod
    def _harness(case: Case, groups: int) -> Harness:
        return Harness(case.env(groups), batch_mode=case.batch_mode, seed=groups)

    @staticmethod
    def _note(outcome: Outcome, harness: Harness, output: list[str]) -> None:
        outcome.outputs.append(output)
        outcome.watermarks.append(harness.watermark(FIRST))

    @staticmethod
    def _crash(harness: Harness) -> None:
        """Lets the first batch fail after its first slot has written."""

        def fail(level: int, slot: int) -> None:
            raise CrashError

        harness.job.after_slot = fail
        try:
            harness.run(max_batches=1)
        except CrashError:
            harness.job.after_slot = None
            return
        raise AssertionError("the batch did not fail")


ENGINES: dict[str, Engine] = {"harness": HarnessEngine()}
