"""Programs for tests of the local engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.connectors import SimpleSource


def environment(folder: Path, **options: Any) -> ps.StreamExecutionEnvironment:
    """An environment of the local engine. Options have underscores instead of dots, and double ones instead of dashes."""
    settings = {key.replace("__", "-").replace("_", "."): value for key, value in options.items()}
    settings = {"execution.engine": "local", "execution.checkpointing.dir": str(folder / "checkpoints"), **settings}
    return ps.StreamExecutionEnvironment(ps.Configuration(settings))


class FileLines(SimpleSource):
    """The lines of a file that grows. A test appends lines to it while the job runs."""

    bounded = False

    def __init__(self, file: Path) -> None:
        self._file = file

    def _lines(self) -> list[str]:
        return self._file.read_text().splitlines() if self._file.exists() else []

    def end(self, split: str) -> int:
        return len(self._lines())

    def read_range(self, split: str, start: int, end: int) -> Iterable[tuple[int, Any]]:
        return list(enumerate(self._lines()))[start:end]


class Total(ps.KeyedProcessFunction):
    """The sum of the numbers of each key."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[tuple[str, int]]:
        self.total.update((self.total.value() or 0) + value[1])
        yield value[0], self.total.value() or 0


def pair(line: str) -> tuple[str, int]:
    key, _, number = line.partition(" ")
    return key, int(number)


def totals(env: ps.StreamExecutionEnvironment, lines: Path) -> ps.DataStream[Any]:
    """Running totals of the lines of a file."""
    stream = env.from_source(FileLines(lines), source_name="lines").uid("lines")
    return stream.map(pair).key_by(lambda v: v[0]).process(Total()).name("totals").uid("totals")


def append(file: Path, *lines: str) -> None:
    with open(file, "a", encoding="utf-8") as opened:
        opened.write("".join(f"{line}\n" for line in lines))
