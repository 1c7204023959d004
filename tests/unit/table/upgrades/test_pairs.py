"""A changed query keeps the state that still applies: what the check says is what a start does."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import CheckpointError
from tests.unit.table.upgrades.jobs import Runner
from tests.unit.table.upgrades.pairs import FIRST, PAIRS, SECOND, Pair, rates_of


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_changed_query_keeps_the_state_that_applies(
    pair: Pair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runner = Runner(tmp_path, capsys)
    runner.write("orders", "1", FIRST)
    if rates_of(pair):
        runner.write("rates", "1", rates_of(pair))
    savepoint = runner.run(pair.old, pair.before)

    checked = runner.check(savepoint, pair.new)
    assert tuple(verdict.verdict for verdict in checked.queries.verdicts) == pair.verdicts
    reasons = "; ".join(reason for verdict in checked.queries.verdicts for reason in verdict.reasons)
    assert pair.reason in reasons
    assert checked.compatible is (not pair.options)

    runner.write("orders", "2", SECOND)
    start = {"execution.state-recovery.path": savepoint}
    if pair.options:
        with pytest.raises(CheckpointError) as refused:
            runner.start(pair.new, **start)
        assert refused.value.code in ("SAVEPOINT_QUERY_CHANGED", "SAVEPOINT_STATE_UNCLAIMED")
    runner.forget()
    runner.run(pair.new, pair.after, **start, **pair.options)
