"""The comparison of outputs, and its chart."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.whatif.chart import comparison_chart
from penstock.whatif.comparison import compare_outputs


def write_output(folder: Path, *lines: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "part-0.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "part-1.jsonl").write_text("not visible\n")
    return folder


ROWS = st.lists(st.sampled_from(["1", "2", "3", "4"]), max_size=12)


@given(ROWS, ROWS)
def test_duplicates_count_and_order_does_not(
    tmp_path_factory: pytest.TempPathFactory, a: list[str], b: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("fork")
    found = compare_outputs("out", "b", write_output(folder / "a", *a), write_output(folder / "b", *b))
    assert (found.rows_of_first, found.rows) == (len(a), len(b))
    assert found.same + found.only_in_first == len(a)
    assert found.same + found.only_here == len(b)
    assert found.equal == (Counter(a) == Counter(b))


def test_rows_with_the_same_key_are_paired(tmp_path: Path) -> None:
    a = write_output(tmp_path / "a", '{"k":"x","v":1}', '{"k":"y","v":2}', '{"k":"z","v":3}')
    b = write_output(tmp_path / "b", '{"k":"x","v":1}', '{"k":"y","v":5}', '{"k":"w","v":3}')
    found = compare_outputs("out", "b", a, b, "k")
    assert (found.same, found.only_in_first, found.only_here, found.keys_differ) == (1, 2, 2, 1)
    assert found.examples_of_keys == [['"y"', '{"k":"y","v":2}', '{"k":"y","v":5}']]


def test_a_key_can_be_an_index_or_a_nested_field(tmp_path: Path) -> None:
    a = write_output(tmp_path / "a", '["x",[1,7]]')
    b = write_output(tmp_path / "b", '["y",[1,8]]')
    assert compare_outputs("out", "b", a, b, "1.0").keys_differ == 1
    assert compare_outputs("out", "b", a, b, "0").keys_differ == 0


def test_an_unknown_key_is_an_error(tmp_path: Path) -> None:
    a, b = write_output(tmp_path / "a", '{"k":1}'), write_output(tmp_path / "b", '{"k":2}')
    with pytest.raises(StateError, match=r"FORK_KEY.*'out'.*'id'"):
        compare_outputs("out", "b", a, b, "id")


def test_a_sink_that_only_one_version_has(tmp_path: Path) -> None:
    found = compare_outputs("out", "b", tmp_path / "nothing", write_output(tmp_path / "b", "1", "2"))
    assert (found.only_here, found.rows_of_first) == (2, 0)


def test_the_chart_has_a_bar_for_each_part(tmp_path: Path) -> None:
    a, b = write_output(tmp_path / "a", "1", "2", "3"), write_output(tmp_path / "b", "2", "3", "4", "5")
    chart = ET.fromstring(
        comparison_chart([compare_outputs("o<u>t", "b", a, b), compare_outputs("same", "b", a, a)], "a")
    )
    bars = [e for e in chart.iter("{http://www.w3.org/2000/svg}rect") if e.get("height") == "22"]
    widths = [float(e.get("width", 0)) for e in bars]
    assert len(bars) == 4
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.01)  # two rows that both have, one that only the first has
    texts = [e.text for e in chart.iter("{http://www.w3.org/2000/svg}text")]
    assert "-1 +2" in texts
    assert "equal" in texts
