"""A transcript and the job that it describes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from penstock.config.execution_options import WATERMARK_EMISSION
from penstock.connectors import At, CollectSink, Mark, ScriptedSource, Step
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.time import WatermarkStrategy
from tests.system.transcripts.operators import LATE, Record, attach, watermark_text

FIRST, SECOND, SINK = "first", "second", "out"  # uids


@dataclass(frozen=True)
class Case:
    """One transcript. Its fields are explained in cases.yaml."""

    fields: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.fields['id']}: {self.fields['rule']}"

    @property
    def batch_mode(self) -> bool:
        return bool(self.fields.get("mode") == "batch")

    @property
    def crash(self) -> bool:
        return bool(self.fields.get("crash"))

    @property
    def groups(self) -> list[int]:
        return list(self.fields.get("groups", [1, 2, 3]))

    @property
    def restores(self) -> dict[int, int]:
        """The number of slots with which the job is restored, by the batch before which that happens."""
        found: dict[int, int] = {}
        batches = 0
        for step in self.fields["in"]:
            if "restore" in step:
                found[batches] = step["restore"]
            else:
                batches += 1
        return found

    def steps(self) -> list[Step]:
        """The batches of the source."""
        return [self._step(step) for step in self.fields["in"] if "restore" not in step]

    def _step(self, step: dict[str, Any]) -> Step:
        splits = {name: self._items(items) for name, items in step.items() if re.fullmatch(r"s\d", name)}
        ended = tuple(step.get("ended", ()))
        return Step(splits, clock=step.get("T"), ended=ended, run=step.get("run"), end=step.get("end", False))

    def _items(self, words: list[str]) -> list[Any]:
        keys = self.fields.get("keys")
        if keys is None:
            return [_item(word) for word in words]
        return [_item(key + word[1:]) for word in words for key in keys]

    # -- the job

    def env(self, groups: int) -> StreamExecutionEnvironment:
        """Returns the job. Its results go to the sink `SINK`, as texts of the transcript."""
        env = StreamExecutionEnvironment()
        env.set_parallelism(groups)
        if self.fields.get("emit") == "batch":
            env.configuration.set(WATERMARK_EMISSION.key, "per-batch")
        source = ScriptedSource(self.steps(), known=tuple(self.fields.get("splits", ())))
        stream = env.from_source(source, self._strategy())
        op, late = self.fields["op"], "late_count" not in self.fields
        combined = self.fields.get("combine") == "mapper"
        result = attach(stream, op, FIRST, self.fields.get("L", 0), late, self._rules(env), combined)
        if "then" in self.fields:
            result = attach(result, self.fields["then"], SECOND, 0, False)
            late = False
        words: DataStream[str] = result.map(str)
        if late:
            words = words.union(result.get_side_output(LATE).map(lambda record: f"late {record}"))
        words.sink_to(CollectSink()).uid(SINK)
        return env

    def _rules(self, env: StreamExecutionEnvironment) -> DataStream[Any] | None:
        """The second source, if the transcript has one. It is broadcast and has no watermarks."""
        steps_in = self.fields["in"]
        if not any("rules" in step for step in steps_in):
            return None
        steps = [Step({"r": [_item(word) for word in step.get("rules", ())]}) for step in steps_in]
        return env.from_source(ScriptedSource(steps, lockstep=False), None, "rules")

    def _strategy(self) -> WatermarkStrategy | None:
        kind = self.fields.get("wm", "none")
        if kind == "none":
            return None
        if kind == "ingestion":
            return WatermarkStrategy.for_ingestion_time()
        delay = int(kind.split()[1]) if kind.startswith("bound") else 0
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(delay)
        return strategy.with_idleness(self.fields["idle"]) if "idle" in self.fields else strategy

    # -- expected results

    def expected_outputs(self) -> list[list[str]]:
        keys = self.fields.get("keys")
        if keys is None:
            return [list(words) for words in self.fields["out"]]
        return [[key + word[1:] for word in words for key in keys] for words in self.fields["out"]]

    def comparable(self, outputs: list[list[str]]) -> Any:
        """Sorts outputs whose order the transcript does not fix."""
        if self.fields.get("set"):
            return [sorted(words) for words in outputs]
        if self.fields.get("by_key"):
            return [sorted(words, key=lambda word: word[0]) for words in outputs]
        return outputs

    def expected_watermarks(self) -> list[str]:
        return [str(w) for w in self.fields["W"]]


@dataclass
class Outcome:
    """The result of a case. Lists have one entry per entry of `in` of the transcript."""

    outputs: list[list[str]]
    watermarks: list[int]
    late_records: int
    next_wake: int | None

    def watermark_words(self) -> list[str]:
        return [watermark_text(w) for w in self.watermarks]


def _item(word: str) -> Any:
    if word.startswith("!"):
        return Mark(int(word[1:]))
    found = re.fullmatch(r"(\w+)(?:@(\d+))?(?:=(\d+))?", word)
    assert found is not None, word
    key, timestamp, value = found.groups()
    if timestamp is None:
        return Record(key)
    return At(Record(key, int(timestamp), int(value or 1)), int(timestamp))


def cases() -> list[Case]:
    """Returns all transcripts."""
    transcripts = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())
    return [Case(fields) for fields in transcripts]
