"""Statistics of state, the state of one key, and the commands that show them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock.cli.main import app
from penstock.runtime.state.keys import encode_key, key_group, key_hash
from penstock.savepoints import Savepoint
from penstock.state_processor import SavepointWriter
from penstock.state_processor.state_view import SavepointView, read_key_rows
from penstock.state_processor.statistics import StateStatistics, compute_statistics, savepoint_entries

GROUPS = 8
TOTAL = ps.ValueStateDescriptor("total", int)
NAMES = ps.ListStateDescriptor("names", str)
RULES = ps.MapStateDescriptor("rules", str, int)
LASTING = ps.ValueStateDescriptor("lasting", int)
LASTING.enable_time_to_live(ps.StateTtlConfig.new_builder(ps.Time.seconds(5)).build())


@pytest.fixture
def savepoint(tmp_path: Path) -> Savepoint:
    writer = SavepointWriter.new_savepoint(GROUPS)
    writer.with_state("totals", TOTAL, [{"key": f"k{i}", "value": i} for i in range(100)])
    writer.with_state(
        "totals", TOTAL, [{"key": ("a", 7), "value": 70}, {"key": 7, "value": 7}, {"key": "7", "value": 77}]
    )
    many = [{"key": "big", "value": "x" * 50} for _ in range(200)]
    writer.with_state("totals", NAMES, [*many, *({"key": f"small{i}", "value": "y"} for i in range(10))])
    writer.with_state("totals", RULES, [{"map_key": "limit", "value": 3}], broadcast=True)
    old = [{"key": "old", "value": 1, "written": 1000}, {"key": "new", "value": 2, "written": 9000}]
    writer.with_state("totals", LASTING, old)
    writer.with_timers("totals", [{"key": "k1", "time": 5}, {"key": "k1", "time": 6}, {"key": "k2", "time": 5}])
    return writer.write(str(tmp_path / "s"))


def figures(savepoint: Savepoint, now: int = 7000) -> dict[str, StateStatistics]:
    return {s.state: s for s in compute_statistics(savepoint_entries(savepoint), GROUPS, now, top=2)}


def test_keys_entries_and_bytes_are_counted(savepoint: Savepoint) -> None:
    found = figures(savepoint)
    assert (found["total"].keys, found["total"].entries) == (103, 103)
    assert (found["names"].keys, found["names"].entries) == (11, 221)  # each list has an entry that numbers the others
    assert (found["rules"].keys, found["rules"].entries, found["rules"].group_bytes) == (0, 1, [])
    assert (found["__event_timers__"].keys, found["__event_timers__"].entries) == (2, 3)
    saved = {s.name: s for s in savepoint.manifest.operators[0].states}
    assert found["total"].bytes == saved["total"].size


def test_the_largest_keys_come_first(savepoint: Savepoint) -> None:
    big, small = figures(savepoint)["names"].biggest
    assert (big.key, small.key[:6]) == ("'big'", "'small")
    assert big.entries == 201
    assert big.bytes > 200 * 50


def test_skew_of_key_groups(savepoint: Savepoint) -> None:
    found = figures(savepoint)["names"]
    group = key_group(key_hash(encode_key("big")[0]), GROUPS)
    assert max(found.group_bytes) == found.group_bytes[group]
    assert found.skew == pytest.approx(max(found.group_bytes) / (sum(found.group_bytes) / GROUPS))
    assert figures(savepoint)["total"].skew < 3 < found.skew


@pytest.mark.parametrize(("now", "expired"), [(5999, 0), (6000, 1), (14_000, 2)])
def test_expired_entries_are_counted(savepoint: Savepoint, now: int, expired: int) -> None:
    assert figures(savepoint, now)["lasting"].expired == expired


def test_the_state_of_a_key(savepoint: Savepoint) -> None:
    kept = SavepointView(savepoint)
    found = read_key_rows(kept, kept.operators[0], encode_key("k1")[0])
    assert found == {
        "total": [{"key": "k1", "value": 1}],
        "__event_timers__": [{"key": "k1", "time": 5, "kind": "event"}, {"key": "k1", "time": 6, "kind": "event"}],
    }


def run_state_command(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["state", *args], env={"COLUMNS": "200"})
    return result.exit_code, result.output


@pytest.mark.parametrize(("key", "value"), [("7", 7), ('"7"', 77), ('["a", 7]', 70), ("k5", 5)])
def test_get_finds_a_key_as_it_is_typed(savepoint: Savepoint, key: str, value: int) -> None:
    code, out = run_state_command("get", savepoint.path, "totals", key, "--json")
    assert (code, json.loads(out)["states"]["total"]) == (0, [{"value": value}])


def test_get_of_one_state(savepoint: Savepoint) -> None:
    code, out = run_state_command("get", savepoint.path, "totals", "k1", "--state", "total")
    assert code == 0
    assert out.splitlines()[:2] == ["total", "  1"]
    assert "event" not in out


def test_get_of_a_key_without_state(savepoint: Savepoint) -> None:
    code, out = run_state_command("get", savepoint.path, "totals", "nobody")
    assert (code, "nobody has no state" in out) == (1, True)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("totls", "k1"), "NO_SUCH_OPERATOR"),
        (("totals", "k1", "--state", "sum"), "NO_SUCH_STATE"),
    ],
)
def test_errors_have_codes(savepoint: Savepoint, args: tuple[str, ...], code: str) -> None:
    result = CliRunner().invoke(app, ["state", "get", savepoint.path, *args])
    assert result.exit_code == 1
    assert code in result.output


def test_stats_and_list_as_text_and_json(savepoint: Savepoint) -> None:
    code, out = run_state_command("stats", savepoint.path)
    assert code == 0
    assert "totals.names: the largest keys are 'big' 1" in out
    assert "█" in out
    states = json.loads(run_state_command("stats", savepoint.path, "--json")[1])["states"]
    assert {s["state"]: s["keys"] for s in states}["total"] == 103
    code, out = run_state_command("list", savepoint.path)
    assert [line.split() for line in out.splitlines() if "names" in line] == [["totals", "names", "list", "str"]]
    assert "map, broadcast" in out


def test_an_unknown_job_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["state", "stats", "nothing"], env={"PENSTOCK_HOME": str(tmp_path)})
    assert result.exit_code == 1
    assert "JOB_UNKNOWN" in result.output
