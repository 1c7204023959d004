"""Plays the situations on a local Spark and asks what `penstock diagnose` says of each.

python -m tests.insight.run                     all of them; takes about ten minutes
python -m tests.insight.run "hot key" --record  only some; their histories are kept for the tests
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
from penstock.jobs.history import History
from penstock.jobs.registry import Registry
from tests.faults.filesystem.failing import FailingStore
from tests.insight.recorded import HISTORIES, record
from tests.insight.situations import SITUATIONS, Situation, Stage

_PATIENCE = 120.0


@dataclass
class Played:
    """What was said of a situation."""

    situation: Situation
    said: Diagnosis
    seconds: float

    @property
    def right(self) -> bool:
        title = self.said.findings[0].title if self.said.findings else ""
        return self.said.cause == self.situation.cause and self.situation.names in title


class Theatre:
    """One Spark on which all situations are played, one after the other."""

    def __init__(self, root: Path, record: Path | None = None) -> None:
        self.root = root
        self._record = record  # where histories are left, for tests that play them again
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

    def play(self, situation: Situation) -> Played:
        began = time.monotonic()
        stage = Stage(self.root, self.store)
        env = ps.StreamExecutionEnvironment.get_execution_environment(
            ps.Configuration({**self._options, **situation.options})
        )
        situation.build(env, stage)
        client = env.execute_async(situation.name)
        history = History(self.registry.job_folder(str(client.get_job_id())))
        try:
            self._until(lambda: len(history.latest()) >= situation.checkpoints)
            situation.disturb(stage)
            time.sleep(situation.seconds)
            kept, now = history.latest(), time.time()
            said = diagnose(kept, now)
            if self._record is not None:
                record(self._record / f"{situation.name.replace(' ', '-')}.json", kept, now)
        finally:
            situation.heal(stage)
            client.cancel().result()
        return Played(situation, said, time.monotonic() - began)

    @staticmethod
    def _until(reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while not reached() and time.monotonic() < deadline:
            time.sleep(0.2)


def table_of(played: list[Played]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False, pad_edge=False)
    for heading in ("situation", "expected", "said", "", "evidence"):
        table.add_column(heading)
    for p in played:
        findings = p.said.findings
        evidence = (
            f"{findings[0].title}: {findings[0].evidence[0]}" if findings else f"{p.said.checkpoints} checkpoints"
        )
        also = [f.cause for f in findings[1:]]
        said = p.said.cause + (f" (then {', '.join(also)})" if also else "")
        table.add_row(p.situation.name, p.situation.cause, said, "right" if p.right else "WRONG", evidence)
    return table


def main() -> int:
    wanted = {name for name in sys.argv[1:] if not name.startswith("--")}
    histories = HISTORIES if "--record" in sys.argv else None
    played: list[Played] = []
    with tempfile.TemporaryDirectory(prefix="penstock-insight-") as folder:
        theatre = Theatre(Path(folder), histories)
        for situation in SITUATIONS:
            if not wanted or situation.name in wanted:
                played.append(theatre.play(situation))
                print(
                    f"{situation.name}: {played[-1].said.cause}, {'right' if played[-1].right else 'WRONG'}, "
                    f"{played[-1].seconds:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
                for finding in played[-1].said.findings:
                    print(f"   {finding.cause} {finding.share:.2f} {finding.evidence}", file=sys.stderr, flush=True)
    Console(width=160).print(table_of(played))
    return 0 if all(p.right for p in played) else 1


if __name__ == "__main__":
    sys.exit(main())
