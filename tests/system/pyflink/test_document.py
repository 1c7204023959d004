"""The program output in docs/how-to/from-pyflink.md is the output that the tests expect."""

from __future__ import annotations

import re
from pathlib import Path

from tests.locations import DOCS

HERE = Path(__file__).parent
PAGE = (DOCS / "how-to" / "from-pyflink.md").read_text(encoding="utf-8")
SHOWN = {
    "basic_operations.py": "people",
    "process_json_data.py": "json_data",
    "state_access.py": "balance",
    "event_time_timer.py": "balance_later",
    "windowing/tumbling_time_window.py": "time_windows-tumbling",
    "windowing/sliding_time_window.py": "time_windows-sliding",
    "windowing/session_with_gap_window.py": "time_windows-session",
    "windowing/session_with_dynamic_gap_window.py": "time_windows-dynamic",
    "windowing/tumbling_count_window.py": "count_windows",
}


def expected(name: str) -> str:
    return (HERE / "expected" / f"{name}.txt").read_text(encoding="utf-8")


def test_the_page_shows_the_printed_output() -> None:
    blocks = dict(re.findall(r"^\*\*([\w/]+\.py)\*\*.*?```text\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE))
    assert {name: blocks[name] for name in SHOWN} == {name: expected(of) for name, of in SHOWN.items()}


def test_the_word_counts_on_the_page_are_correct() -> None:
    shown = re.search(r"\*\*word_count.py\*\*.* prints (\d+) words.*?```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    counted = [line for line in expected("word_count").splitlines() if line.startswith("(")]
    assert len(counted) == int(shown[1])
    assert set(shown[2].splitlines()) <= set(counted)
