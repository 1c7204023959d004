"""Runs the pipelines of all families: in the harness, and in another process that gets the program as a worker of Spark does."""

from __future__ import annotations

import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import penstock as ps
from penstock.connectors.scripted import At
from penstock.engine.program.builder import build_program
from penstock.engine.program.pickling import load_with_classes, pickle_by_value, pickle_with_classes
from penstock.engine.wire.frames import Control
from penstock.plan.nodes import SourceNode
from penstock.runtime.pickling import dumps
from penstock.testing import Harness
from penstock.testing.local_engine import LocalJob
from penstock.testing.source_reading import LocalSourceReader
from tests.system.classes.roles import expect, roles_of

Problems = dict[str, str]  # by the name of the family


def try_harness(families: list[Any]) -> Problems:
    """Runs the pipelines of each family twice, since the first run may leave something behind in the class."""

    def run(family: Any) -> None:
        for _ in range(2):
            env = ps.StreamExecutionEnvironment()
            harness = Harness(env, parallelism=2)
            outputs = [harness.collect(role(env, family)) for role in roles_of(family)]
            with harness:
                harness.run()
            for out in outputs:
                _check(family, list(out))

    return _try_all(families, run)


def try_worker(families: list[Any]) -> Problems:
    """Runs all pipelines in another process. Elements come back to this one."""
    programs: dict[str, bytes] = {}

    def compile_program(family: Any) -> None:
        env = ps.StreamExecutionEnvironment()
        harness = Harness(env, parallelism=2)
        for role in roles_of(family):
            harness.collect(role(env, family))
        graph = harness._pipeline.graph(2, 128, False)
        originals = {node.id: node for node in env._nodes if isinstance(node, SourceNode)}  # not the ones for push
        program = build_program(replace(graph, nodes=tuple(originals.get(node.id, node) for node in graph.nodes)))
        programs[family.name] = pickle_with_classes(program)

    problems = _try_all(families, compile_program)
    command = [sys.executable, "-W", "error", "-m", "tests.system.classes.workers"]
    worker = subprocess.run(command, input=pickle.dumps(programs), capture_output=True, check=False)
    if worker.returncode:
        return {"worker": worker.stderr.decode()}
    results: dict[str, tuple[str, bytes]] = pickle.loads(worker.stdout)

    def check(family: Any) -> None:
        problem, data = results[family.name]
        assert not problem, problem
        _check(family, pickle.loads(data))

    return problems | _try_all([family for family in families if family.name in results], check)


def _check(family: Any, values: list[Any]) -> None:
    assert values
    for value in values:
        expect(family, value)


def _try_all(families: list[Any], run: Callable[[Any], None]) -> Problems:
    problems: Problems = {}
    for family in families:
        try:
            run(family)
        except Exception:
            problems[family.name] = traceback.format_exc()
    return problems


def _run_program(data: bytes) -> list[Any]:
    program, classes = load_with_classes(data)
    classes.activate()
    job = LocalJob(program)
    reader = LocalSourceReader([s.source for s in program.sources], 2)
    values: list[Any] = []
    for batch in reader.batches():
        planned = pickle.loads(dumps(batch.planned))  # planned by the driver
        committed = job.run(planned, Control("run", batch.offsets[0]["n"], batch.known, batch.ended, batch.end), 0)
        values += [e.value if isinstance(e, At) else e for sink in committed for e in sink]
        reader.commit(batch)
    job.close()
    return values


def main() -> None:
    results = {}
    for name, data in pickle.load(sys.stdin.buffer).items():
        try:
            values = _run_program(data)
            try:
                results[name] = "", pickle.dumps(values)
            except Exception:
                results[name] = "", pickle_by_value(values)
        except Exception:
            results[name] = traceback.format_exc(), b""
    sys.stdout.buffer.write(pickle.dumps(results))


if __name__ == "__main__":
    main()
