"""Rows of joins that are stored in blocks follow their key groups when the parallelism changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import PenstockError
from tests.unit.table.upgrades.jobs import Runner
from tests.unit.table.upgrades.pairs import script

_SCRIPT = script("INSERT INTO two SELECT r.item, o.price FROM orders AS o JOIN rates AS r ON o.item = r.item")
_ITEMS = 40


def test_blocks_follow_their_key_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runner = Runner(tmp_path, capsys)
    runner.write(
        "orders", "1", [{"item": f"i{i % _ITEMS}", "price": i, "ts": "2024-01-01 00:00:00"} for i in range(20 * _ITEMS)]
    )
    runner.write("rates", "1", [{"item": "i0", "rate": 1}])
    first = {f"i0, {i}": 1 for i in range(0, 20 * _ITEMS, _ITEMS)}
    savepoint = runner.run(_SCRIPT, {"": first})
    runner.forget()
    runner.write("rates", "2", [{"item": f"i{i}", "rate": 1} for i in range(1, _ITEMS)])
    start = {"execution.state-recovery.path": savepoint}
    with pytest.raises(PenstockError, match=r"Set pipeline\.max-parallelism to 128"):
        runner.start(_SCRIPT, **start, **{"pipeline.max-parallelism": "64"}).get_job_execution_result().result()
    rest = {f"i{i % _ITEMS}, {i}": 1 for i in range(20 * _ITEMS) if i % _ITEMS}
    runner.run(_SCRIPT, {"": rest}, **start, **{"parallelism.default": "3"})
