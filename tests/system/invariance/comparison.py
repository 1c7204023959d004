"""Compares the outcomes of runs."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from typing import Any

from msgspec.structs import replace

from tests.system.invariance.execution import Outcome, Record, run_in_harness
from tests.system.invariance.failures import can_avoid_failures, without_failures
from tests.system.invariance.program import Example, Run
from tests.system.invariance.properties import ordered_outputs, restarts


def check(example: Example) -> None:
    """Runs a program as described and raises AssertionError if outcomes differ that must be equal."""
    with tempfile.TemporaryDirectory() as folder:
        _check(example, folder)


def _check(example: Example, folder: str) -> None:
    program, items = example.program, example.items
    outcomes = [(run, run_in_harness(program, items, run, folder)) for run in example.runs]
    ordered = ordered_outputs(program)
    if program.changes:  # changes of elements that were received or emitted have no effect
        run, outcome = outcomes[0]
        expected = run_in_harness(replace(program, changes=False), items, run, folder)
        _compare(run, run, _by_batch(expected, ordered), _by_batch(outcome, ordered))
    if can_avoid_failures(program):
        _check_failures(example, outcomes[-1][1], folder)
    first: dict[Any, tuple[Run, Outcome]] = {}  # by batches
    for run, outcome in outcomes:
        batches = run.cuts, run.ends_with_input, run.per_batch, run.found, restarts(program, run)
        reference, expected = first.setdefault(batches, (run, outcome))
        _compare(reference, run, _by_batch(expected, ordered), _by_batch(outcome, ordered))
    if program.promise == "batches":
        return
    if program.promise == "multisets":
        ordered = set()
    (reference, expected), *others = outcomes
    for run, outcome in others:
        _compare(reference, run, _view(expected, ordered), _view(outcome, ordered))


def _check_failures(example: Example, outcome: Outcome, folder: str) -> None:
    """Compares the last run with a program that removes the failing elements itself."""
    program, names = without_failures(example.program)
    *_, run = example.runs
    ordered = ordered_outputs(example.program)
    expected = _by_batch(run_in_harness(program, example.items, run, folder), {names[stage] for stage in ordered})
    found = _by_batch(outcome, ordered)
    for output in outcome.batches:
        stage, *tag = output.split()
        if tag != ["dead"]:
            name = " ".join((names[stage], *tag))
            assert found[output] == expected[name], (
                f"'{output}' differs without failures:\n  {run}\n    {expected[name]}\n  with failures\n    {found[output]}"
            )


def _compare(reference: Run, run: Run, expected: dict[str, Any], found: dict[str, Any]) -> None:
    for name in expected:
        assert found[name] == expected[name], (
            f"'{name}' differs:\n  {reference}\n    {expected[name]}\n  {run}\n    {found[name]}"
        )


def _by_batch(outcome: Outcome, ordered: set[str]) -> dict[str, Any]:
    """Returns the elements of each output and batch."""
    view: dict[str, Any] = {}
    for name, batches in outcome.batches.items():
        view[name] = batches if name.split()[0] in ordered else [Counter(map(repr, batch)) for batch in batches]
    return {**view, "counters": outcome.counters}


def _view(outcome: Outcome, ordered: set[str]) -> dict[str, Any]:
    """Returns the elements of each output, as sequences per key where the output is ordered."""
    view: dict[str, Any] = {}
    for name in outcome.batches:
        records = outcome.records(name)
        view[name] = _sequences(records) if name.split()[0] in ordered else Counter(map(repr, records))
    return {**view, "counters": outcome.counters}


def _sequences(records: list[Record]) -> dict[Any, list[Record]]:
    by_key: dict[Any, list[Record]] = defaultdict(list)
    for value, timestamp in records:
        by_key[value[0]].append((value, timestamp))
    return dict(by_key)
