"""`penstock explain`: what it shows of a program, without running jobs."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app

PROGRAM = """
import sys
import penstock as ps

LATE = ps.OutputTag("late")


class Running(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        raise RuntimeError("nothing runs")
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))
        self.seen = runtime_context.get_map_state(ps.MapStateDescriptor(name="seen", key_type_info=str, value_type_info=int))

    def process_element(self, value, ctx):
        yield value


env = ps.StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(3)
numbers = env.from_sequence(1, 8).map(lambda n: n + 1).uid("add <1>")
totals = numbers.key_by(lambda n: n % 2).process(Running()).uid("totals").set_parallelism(2)
totals.print()
totals.get_side_output(LATE).rebalance().map(str).print()
print("output of the program", sys.argv[1:])
env.execute("running")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "job.py"
    path.write_text(PROGRAM)
    return path


def explain(program: Path, *arguments: str, text: str | None = None) -> Result:
    if text is not None:
        program.write_text(text)
    return CliRunner().invoke(app, ["explain", str(program), *arguments])


def steps(result: Result) -> dict[str, dict[str, Any]]:
    assert result.exit_code == 0, result.output
    (job,) = json.loads(result.stdout)
    return {step["uid"]: step for step in job["steps"]}


def test_steps_have_levels_state_and_edges(program: Path) -> None:
    found = steps(explain(program, "--json"))
    assert {uid: s["level"] for uid, s in found.items()} == {
        "sequence-1": 0,
        "add <1>": 0,
        "totals": 1,
        "sink-1": 1,
        "rebalance-1#exchange": 2,
        "map-2": 2,
        "sink-2": 2,
    }
    totals = found["totals"]
    assert (totals["state"], totals["keyed"], totals["parallelism"]) == (["total", "seen"], True, 2)
    assert [edge["partitioning"] for edge in totals["inputs"]] == ["hash"]
    assert totals["line"] == "job.py:21"
    (way,) = found["rebalance-1#exchange"]["inputs"]
    assert (way["partitioning"], way["side_output"]) == ("rebalance", "late")


def test_the_tree_contains_each_step_once(program: Path) -> None:
    shown = explain(program)
    assert shown.exit_code == 0, shown.output
    text = shown.stdout
    assert "job 'running'  parallelism 3, 128 key groups" in text
    assert "output of the program" not in text
    for uid in ("sequence-1", "add <1>", "totals", "sink-1", "map-2", "sink-2"):
        assert len(re.findall(rf"uid {re.escape(uid)}\s", text)) == 1, uid
    assert "→ hash to level 1, totals" in text
    assert "← hash from add <1>" in text
    assert "state total, seen" in text


def test_mermaid(program: Path) -> None:
    text = explain(program, "--mermaid").stdout
    lines = text.splitlines()
    assert lines[0] == "flowchart LR"
    boxes = set(re.findall(r"^    (n\d+)", text, re.M))
    arrows = re.findall(r"^  (n\d+) -->(?:\|\"[^\"|]*\"\|)? (n\d+)$", text, re.M)
    assert len(boxes) == 7
    assert len(arrows) == len(lines) - 1 - 7 - 3 * 2, "every other line is an arrow"
    assert {end for arrow in arrows for end in arrow} == boxes
    assert "add #lt;1#gt;" in text


def test_svg(program: Path, tmp_path: Path) -> None:
    picture = tmp_path / "job.svg"
    assert explain(program, "--svg", str(picture)).exit_code == 0
    root = ET.parse(picture).getroot()
    space = {"s": "http://www.w3.org/2000/svg"}
    texts = [t.text for t in root.iterfind(".//s:text", space)]
    assert {"running", "level 0", "level 1", "level 2", "uid add <1>", "state total, seen"} <= set(texts)
    boxes = [{k: float(v) for k, v in r.attrib.items() if k in ("x", "y", "width", "height")} for r in _boxes(root)]
    assert len(boxes) == 7
    for n, one in enumerate(boxes):
        for other in boxes[:n]:
            apart = (
                one["x"] + one["width"] <= other["x"]
                or other["x"] + other["width"] <= one["x"]
                or one["y"] + one["height"] <= other["y"]
                or other["y"] + other["height"] <= one["y"]
            )
            assert apart, (one, other)


def _boxes(root: ET.Element) -> list[ET.Element]:
    return [r for r in root.iter("{http://www.w3.org/2000/svg}rect") if r.get("stroke")]


def test_a_program_with_several_jobs(program: Path, tmp_path: Path) -> None:
    text = """
import penstock as ps
env = ps.StreamExecutionEnvironment.get_execution_environment()
for n in range(2):
    env.from_collection([n]).print()
    env.execute(f"job {n}")
assert list(env.from_collection([1]).execute_and_collect("third")) == []
env.from_collection([2]).print()
env.execute_async("fourth").get_job_execution_result().result()
"""
    shown = explain(program, "--json", text=text)
    assert [job["name"] for job in json.loads(shown.stdout)] == ["job 0", "job 1", "third", "fourth"]
    assert explain(program, "--svg", str(tmp_path / "p.svg")).exit_code == 0
    assert sorted(p.name for p in tmp_path.glob("*.svg")) == ["p-2.svg", "p-3.svg", "p-4.svg", "p.svg"]


def test_a_program_that_fails_without_results_is_shown_up_to_that_point(program: Path) -> None:
    shown = explain(program, text=PROGRAM + "\nraise ValueError('no results')\n")
    assert shown.exit_code == 0
    assert "uid totals" in shown.stdout
    assert "no results" in shown.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "ended without a job"),
        ("raise ValueError('early')", "early"),
        (PROGRAM.replace("totals.print()", "").replace(".map(str).print()", ""), "NO_SINK"),
    ],
)
def test_a_program_without_a_job_is_an_error(program: Path, text: str, message: str) -> None:
    shown = explain(program, text=text)
    assert shown.exit_code == 1
    assert message in shown.stderr


def test_a_pyflink_program(program: Path) -> None:
    text = PROGRAM.replace(
        "import penstock as ps", "import pyflink.datastream as ps, pyflink.datastream.state as state"
    )
    text = text.replace("ps.ValueState", "state.ValueState").replace("ps.MapState", "state.MapState")
    assert steps(explain(program, "--pyflink", "--json", text=text))["totals"]["state"] == ["total", "seen"]
    assert explain(program, "--json").exit_code == 1, "without the flag there is no pyflink"


OPERATORS = """
import penstock as ps
from penstock.cep import CEP, Pattern
from penstock.windows import CountTrigger, EventTimeSessionWindows, TumblingEventTimeWindows

second = ps.Duration.of_seconds(1)
env = ps.StreamExecutionEnvironment.get_execution_environment()
env.set_runtime_mode(ps.RuntimeExecutionMode.AUTOMATIC)


class Both(ps.ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        yield left, right


stream = env.from_collection([("a", 1)])
keyed = stream.key_by(lambda pair: pair[0])
near = keyed.interval_join(keyed).between(ps.Duration.of_seconds(-1), second).upper_bound_exclusive()
near.process(Both()).uid("interval").print()
joined = stream.join(stream).where(lambda pair: pair[0]).equal_to(lambda pair: pair[0])
joined.window(TumblingEventTimeWindows.of(second)).apply(lambda a, b: a).uid("join").print()
late = keyed.window(EventTimeSessionWindows.with_gap(second)).trigger(CountTrigger.of(2)).allowed_lateness(5)
late.side_output_late_data(ps.OutputTag("late")).reduce(max).uid("sessions").print()
two = Pattern.begin("first").where(lambda pair: True).next("second").within(second)
CEP.pattern(keyed, two).select(lambda match: match).uid("pattern").print()
env.execute("operators")
"""


@pytest.mark.parametrize(
    ("uid", "window", "state"),
    [
        ("interval", "right from -1000 ms to 1000 ms (exclusive) around left", ["left elements", "right elements"]),
        ("join", "TumblingEventTimeWindows(size=1000, offset=0), EventTimeTrigger", ["window contents"]),
        (
            "sessions",
            "EventTimeSessionWindows(gap=1000), CountTrigger, allowed lateness 5 ms, late elements to 'late'",
            ["window contents"],
        ),
        ("pattern", "pattern first(next, single) -> second(next, single), within 1000 ms", ["partial matches"]),
    ],
)
def test_operators_show_their_settings(program: Path, uid: str, window: str, state: list[str]) -> None:
    found = steps(explain(program, "--json", text=OPERATORS))[uid]
    assert found["window"] == window
    assert found["state"][: len(state)] == state
    assert found["keyed"] is True


def test_batch_mode_is_shown(program: Path) -> None:
    assert "BATCH mode, parallelism" in explain(program, "-D", "execution.runtime-mode=BATCH").stdout
