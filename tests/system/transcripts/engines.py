"""Engines that run transcripts. An engine is a class with one method, registered in ENGINES."""

from __future__ import annotations

from typing import Protocol

from penstock.testing import Harness
from tests.system.transcripts.case import FIRST, SINK, Case, Outcome


class Engine(Protocol):
    """Runs a case with some number of slots."""

    def run(self, case: Case, groups: int) -> Outcome: ...


class CrashError(Exception):
    """Raised to fail a batch in the middle."""


class HarnessEngine:
    """Runs a transcript in this process."""

    def run(self, case: Case, groups: int) -> Outcome:
        outcome = Outcome([], [], 0, None)
        harness = self._harness(case, groups)
        for batch in range(len(case.steps())):
            if batch in case.restores:
                saved = harness.snapshot()
                harness = self._harness(case, case.restores[batch]).restore(saved)
                self._record(outcome, harness, [])
            if case.crash and batch == 0:
                self._crash(harness)
            harness.run(max_batches=1)
            self._record(outcome, harness, harness.sink(SINK).take())
        outcome.late_records = harness.late_records()
        outcome.next_wake = harness.next_wake()
        return outcome

    @staticmethod
    def _harness(case: Case, groups: int) -> Harness:
        return Harness(case.env(groups), batch_mode=case.batch_mode, seed=groups)

    @staticmethod
    def _record(outcome: Outcome, harness: Harness, output: list[str]) -> None:
        outcome.outputs.append(output)
        outcome.watermarks.append(harness.watermark(FIRST))

    @staticmethod
    def _crash(harness: Harness) -> None:
        """Fails the first batch after its first slot has written."""

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
