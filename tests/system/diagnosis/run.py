"""Runs the situations on a local Spark and checks the diagnosis of each.

python -m tests.system.diagnosis.run                     all of them; takes about ten minutes
python -m tests.system.diagnosis.run "hot key" --record  only some; their histories are recorded for the tests
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import penstock as ps
from penstock.jobs.diagnosis import Diagnosis, diagnose
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.registry import Registry
from tests.system.diagnosis.situations import SITUATIONS, Situation, Stage
from tests.system.faults.filesystem.failing import FailingStore
from tests.unit.jobs.diagnosis.recorded import HISTORIES, record

_TIMEOUT = 120.0


@dataclass
class SituationResult:
    """The diagnosis of a situation."""

    situation: Situation
    diagnosis: Diagnosis
    seconds: float

    @property
    def correct(self) -> bool:
        title = self.diagnosis.findings[0].title if self.diagnosis.findings else ""
        return self.diagnosis.cause == self.situation.cause and self.situation.title in title


class SituationRunner:
    """Runs situations one after the other on one Spark."""

    def __init__(self, root: Path, record: Path | None = None) -> None:
        self.root = root
        self._record = record  # the folder for recorded histories
        self.store = FailingStore(root, root / "checkpoints")
        self.registry = Registry(root / "home")
        self._options = {
            **self.store.settings,
            "spark.master": "local[2]",
            "parallelism.default": 2,
            "execution.checkpointing.dir": str(root / "checkpoints"),
            "state.local.dir": str(root / "local"),
            "jobs.registry.dir": str(root / "home"),
        }

    def run(self, situation: Situation) -> SituationResult:
        began = time.monotonic()
        stage = Stage(self.root, self.store)
        env = ps.StreamExecutionEnvironment.get_execution_environment(
            ps.Configuration({**self._options, **situation.options})
        )
        situation.build(env, stage)
        client = env.execute_async(situation.name)
        history = CheckpointHistory(self.registry.job_folder(str(client.get_job_id())))
        try:
            self._until(lambda: len(history.latest()) >= situation.checkpoints)
            situation.disturb(stage)
            time.sleep(situation.seconds)
            checkpoints, now = history.latest(), time.time()
            diagnosis = diagnose(checkpoints, now)
            if self._record is not None:
                record(self._record / f"{situation.name.replace(' ', '-')}.json", checkpoints, now)
        finally:
            situation.heal(stage)
            client.cancel().result()
        return SituationResult(situation, diagnosis, time.monotonic() - began)

    @staticmethod
    def _until(reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _TIMEOUT
        while not reached() and time.monotonic() < deadline:
            time.sleep(0.2)


def results_table(results: list[SituationResult]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("situation", "expected", "diagnosis", "", "evidence"):
        table.add_column(heading)
    for r in results:
        findings = r.diagnosis.findings
        evidence = (
            f"{findings[0].title}: {findings[0].evidence[0]}" if findings else f"{r.diagnosis.checkpoints} checkpoints"
        )
        also = [f.cause for f in findings[1:]]
        diagnosis = r.diagnosis.cause + (f" (then {', '.join(also)})" if also else "")
        table.add_row(r.situation.name, r.situation.cause, diagnosis, "correct" if r.correct else "WRONG", evidence)
    return table


def main() -> int:
    selected = {name for name in sys.argv[1:] if not name.startswith("--")}
    histories = HISTORIES if "--record" in sys.argv else None
    results: list[SituationResult] = []
    with tempfile.TemporaryDirectory(prefix="penstock-insight-") as folder:
        runner = SituationRunner(Path(folder), histories)
        for situation in SITUATIONS:
            if not selected or situation.name in selected:
                results.append(runner.run(situation))
                print(
                    f"{situation.name}: {results[-1].diagnosis.cause}, {'correct' if results[-1].correct else 'WRONG'}, "
                    f"{results[-1].seconds:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
                for finding in results[-1].diagnosis.findings:
                    print(f"   {finding.cause} {finding.share:.2f} {finding.evidence}", file=sys.stderr, flush=True)
    Console(width=160).print(results_table(results))
    return 0 if all(r.correct for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
