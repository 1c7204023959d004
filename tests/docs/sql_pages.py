"""Runs the pages about SQL as a reader does, and compares what the client prints.

A fence of the language `sql` is executed by `penstock sql --local -f`; the tables, views and settings of earlier fences of the page
exist. A fence `sh` contains shell commands. A fence `output` right behind one of both is what it prints, and a fence `text` that
begins with `penstock: [` is its error. With `file=orders.json`, a fence of any language is written to that file instead.

Fences with the word `kafka` need a broker, whose address replaces `localhost:9092`. Those with the word `fragment` are not run. The
words `background`, `savepoint` and `spark` belong to the tutorial: a command that runs until the end of the page, one that prints
the path that replaces `SAVEPOINT` later, and one that runs on Spark (on the local engine if there is no Spark).

    python -m tests.docs.sql_pages [--kafka ADDRESS] PAGE ...   writes the outputs of the pages again
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.table.dialect.script import next_part

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(?P<words>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"\(\d+\.\d\d seconds\)")
_MESSAGES = re.compile(
    r"^(?:\[INFO\] .*|Received a total of .*|\d+ rows? in set.*|Empty set.*|Job ID: .*\n|penstock: job .*)\n",
    re.MULTILINE,
)
_UID = re.compile(r"uid 'sql-[0-9a-f]{12}'")
_TOPIC = re.compile(r"'topic' = '[\w-]+")
_ADDRESS = "localhost:9092"
_ID = re.compile(r"\b[0-9a-f]{32}\b")
_OUTSIDE = ("make setup", ". .venv/", "mkdir ", "cd ", "penstock dev ")  # done by who runs the tests
_FOLDER = "/home/ann/shop"  # the current folder, in the pages
_MESSAGES_OF_JOBS = ".messages-of-jobs.txt"  # a file: a pipe that nobody reads fills, and the job waits
_KEPT = re.compile(r"CREATE|SET|RESET|USE|ALTER|DROP")  # statements that later fences of the page need


@dataclass(slots=True)
class Step:
    """A fence that is executed, with what the page says that it prints."""

    line: int
    words: list[str]
    text: str
    expected: str | None = None
    fails: bool = False
    span: tuple[int, int] = (0, 0)  # of the expected text in the page

    @property
    def file(self) -> str | None:
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)


def steps(page: Path) -> list[Step]:
    """The fences of a page that are written or executed."""
    text = page.read_text(encoding="utf-8")
    found: list[Step] = []
    for match in _FENCE.finditer(text):
        step = Step(text.count("\n", 0, match.start()) + 2, match["words"].split(), match["text"])
        language = step.words[0] if step.words else ""
        failure = language == "text" and step.text.startswith("penstock: [")
        if (language == "output" or failure) and found and found[-1].words[0] != "python":
            found[-1].expected, found[-1].fails, found[-1].span = step.text, failure, match.span("text")
        elif step.file or language in ("sql", "sh", "python"):
            found.append(step)
    return [step for step in found if step.file or (step.words[0] in ("sql", "sh") and "fragment" not in step.words)]


@dataclass(slots=True)
class Reader:
    """Follows a page in the current folder."""

    kafka: str | None = None  # the address of a broker
    spark: bool = False
    setup: list[str] = field(default_factory=list)
    savepoint: str = "SAVEPOINT"
    name: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def check(self, step: Step) -> None:
        """Writes or executes a fence, and compares what it prints with the page."""
        deadline = time.monotonic() + 120
        while True:
            try:
                printed = self.follow(step)
                if step.expected is not None and printed is not None:
                    assert comparable(printed) == comparable(step.expected), f"line {step.line} prints something else"
                return
            except AssertionError:  # a job in the background may need some time, also to create its topic
                if not self.running or step.expected is None or time.monotonic() > deadline:
                    raise
                self._check_running()

    def follow(self, step: Step) -> str | None:
        """Writes or executes a fence, and returns what it prints. Returns None if it needs a broker and there is none."""
        if "kafka" in step.words and self.kafka is None:
            return None
        step = replace(step, text=self._adapted(step.text))
        if step.file:
            Path(step.file).write_text(step.text, encoding="utf-8")
            return None
        if step.words[0] == "sql":
            return self._query(step)
        lines = [line for line in step.text.splitlines() if not line.startswith(_OUTSIDE)]
        if "background" in step.words:
            self._start(lines[0], "spark" in step.words)
            return ""
        printed = "".join(self._command(line, step.fails) for line in lines)
        if "savepoint" in step.words:
            self.savepoint = printed.strip()
        return printed

    def _adapted(self, text: str) -> str:
        """Returns a text with the address of the broker, and with topics that no other test uses."""
        if self.kafka is None:
            return text
        return _TOPIC.sub(rf"\g<0>-{self.name}", text.replace(_ADDRESS, self.kafka))

    def _start(self, line: str, on_spark: bool) -> None:
        words = shlex.split(line.replace("SAVEPOINT", self.savepoint))[1:]
        if on_spark and not self.spark:
            words.insert(1, "--local")
        program = str(Path(sys.executable).parent / "penstock")
        with open(_MESSAGES_OF_JOBS, "a") as messages:
            started = subprocess.Popen([program, *words], text=True, stdout=subprocess.DEVNULL, stderr=messages)
        self.running.append(started)

    def _check_running(self) -> None:
        job = self.running[-1]
        if job.poll() is not None:
            messages = Path(_MESSAGES_OF_JOBS).read_text(encoding="utf-8")
            raise AssertionError(f"the job in the background has ended: {messages}")
        time.sleep(0.5)

    def stop(self) -> None:
        """Ends the jobs in the background."""
        for job in self.running:
            job.terminate()
            job.wait(120)

    def _query(self, step: Step) -> str:
        Path(".setup.sql").write_text("".join(self.setup), encoding="utf-8")
        Path(".block.sql").write_text(step.text, encoding="utf-8")
        arguments = ["-i", ".setup.sql"] if self.setup else []
        printed = self._penstock(["sql", "--local", *arguments, "-f", ".block.sql"], step.fails)
        if not step.fails:
            self.setup += [f"{statement};\n" for statement in _statements(step.text) if _KEPT.match(statement)]
        return _MESSAGES.sub("", printed).replace(os.getcwd(), _FOLDER)

    def _command(self, line: str, fails: bool) -> str:
        if line.startswith("penstock "):
            return self._penstock(shlex.split(line)[1:], fails)
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
        return done.stdout

    def _penstock(self, arguments: list[str], fails: bool) -> str:
        shown = CliRunner().invoke(app, arguments)
        assert shown.exit_code == (1 if fails else 0), f"{arguments}\n{shown.output}"
        return shown.stderr if fails else shown.stdout


def _statements(script: str) -> Iterator[str]:
    start = 0
    while (part := next_part(script, start)) is not None:
        yield script[part.start : part.end]
        start = part.end + 1


def comparable(text: str) -> str:
    """Times of queries and ids of operators are not compared, and neither are spaces at the ends of lines."""
    text = _ID.sub("ID", _UID.sub("", _SECONDS.sub("", text)))
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return "\n".join(lines)


@contextlib.contextmanager
def empty_folder() -> Iterator[None]:
    """A temporary current folder, with its own registry of jobs."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PENSTOCK_HOME"] = f"{folder}/home"
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def write_outputs(page: Path, kafka: str | None) -> None:
    """Runs a page and replaces its outputs."""
    text = page.read_text(encoding="utf-8")
    pieces, end, reader = [], 0, Reader(kafka)
    for step in steps(page):
        try:
            printed = reader.follow(step)
        except Exception as error:
            print(f"{page.name}:{step.line}: {error}", file=sys.stderr)
            continue
        if "background" in step.words:
            time.sleep(20)
        if step.expected is not None and printed is not None and comparable(printed) != comparable(step.expected):
            lines = [line.rstrip() for line in printed.strip().splitlines()]
            pieces += [text[end : step.span[0]], "\n".join(lines) + "\n"]
            end = step.span[1]
    reader.stop()
    page.write_text("".join(pieces) + text[end:], encoding="utf-8")


if __name__ == "__main__":
    names = sys.argv[1:]
    broker = names[1] if names[0] == "--kafka" else None
    for name in names[2:] if broker else names:
        with empty_folder():
            write_outputs(ROOT / name, broker)
