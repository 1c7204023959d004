"""A job in its own process group that a test sends signals to, and what is left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import psutil

from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry
from tests.waiting import until

_MARKER = "PENSTOCK_TEST_PROCESSES"  # a variable that all processes of a job inherit

PROGRAM = """
import time
import penstock as ps

SLOW = {slow}


class Count(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

    def process_element(self, value, ctx):
        if SLOW:
            open({started!r}, "a").close()
            time.sleep(0.05)
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


env = ps.StreamExecutionEnvironment.get_execution_environment()
env.from_generator(lambda i: i, rate=500).key_by(lambda n: n % 3).process(Count()).uid("count").print()
env.execute("signalled")
print("after execute")
"""


def write_program(folder: Path, slow: bool = False) -> Path:
    program = folder / "job.py"
    program.write_text(PROGRAM.format(slow=slow, started=str(folder / "started")))
    return program


def heed_signals() -> None:
    """In a new process: a signal that the tests ignore, because they run in the background, is not ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class SignalledJob:
    """`penstock run` of an endless job. With `slow`, its first batch takes minutes."""

    def __init__(self, folder: Path, slow: bool = False) -> None:
        self.folder = folder
        self.registry = Registry(folder / "home")
        self.started = folder / "started"
        program = write_program(folder, slow)
        options = {
            "spark.master": "local[2]",
            "spark.driver.memory": "1g",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "execution.trigger.interval": 300,
            "spark.class-archive": False,  # a JVM that writes the archive ends later
        }
        self._marker = uuid.uuid4().hex
        environment = {
            **os.environ,
            "PENSTOCK_HOME": str(self.registry.folder),
            "PENSTOCK_OPTIONS": json.dumps(options),
            _MARKER: self._marker,
        }
        self._out, self._err = folder / "out", folder / "err"
        with open(self._out, "wb") as out, open(self._err, "wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penstock", "run", str(program)],
                env=environment,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=heed_signals,
            )

    def send(self, number: int, to_group: bool) -> None:
        (os.killpg if to_group else os.kill)(self.process.pid, number)

    def wait_for_output(self) -> None:
        until(lambda: self._out.stat().st_size > 0 or self.process.poll() is not None)
        assert self.process.poll() is None, self.errors()

    def wait_for_text(self, text: str) -> None:
        until(lambda: text in self.errors() or self.process.poll() is not None)

    def end(self) -> int:
        return self.process.wait(300)

    def output(self) -> str:
        return self._out.read_text()

    def errors(self) -> str:
        return self._err.read_text()

    def entry(self) -> JobEntry:
        [entry] = self.registry.entries()
        return entry

    def processes(self) -> list[psutil.Process]:
        """All processes of the job that still run: the driver, the JVM, and Python processes of Spark."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(_MARKER) == self._marker and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:  # it has ended, or belongs to another user
                continue
        return found

    def check_clean(self) -> None:
        """Checks that the output has no stack traces and that no process is left."""
        errors = self.errors()
        for noise in ("Traceback", "java.lang", "py4j", "stopped SparkContext", "Exception"):
            assert noise not in errors, errors
        until(lambda: not self.processes(), seconds=60)

    def counts_are_complete(self) -> bool:
        """Whether the counts of each key in the output are 1, 2, 3, ..."""
        counts: dict[int, int] = {}
        for line in self.output().splitlines():
            value, count = (int(part) for part in line.strip("()").split(","))
            if count != counts.get(value % 3, 0) + 1:
                return False
            counts[value % 3] = count
        return True

    def kill(self) -> None:
        for process in self.processes():
            process.send_signal(signal.SIGKILL)
        self.process.wait()
