"""Small programs of the Table API have the answers of PyFlink."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock import table
from penstock.errors import PenstockError
from penstock.table import expressions
from penstock.table.expressions import windows
from tests.unit.table.api import programs

ANSWERS = json.loads((Path(__file__).parent / "answers.json").read_text(encoding="utf-8"))

# What Penstock runs and PyFlink refuses.
MORE = {
    "union",
    "intersect",
    "intersect all",
    "minus",
    "minus all",
    "values of expressions",
    "elements of one column",
    "order by and offset",
    "over in batch",
}


def _names(mode: str, folder: Path) -> dict[str, Any]:
    settings = table.EnvironmentSettings
    env = table.TableEnvironment.create(
        settings.in_streaming_mode() if mode == "streaming" else settings.in_batch_mode()
    )
    env.get_config().set("execution.engine", "local").set("parallelism.default", "1").set_local_timezone("UTC")
    return programs.namespace(env, table, expressions, windows, str(folder))


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("events")
    (folder / "events.csv").write_text("\n".join(programs.EVENTS) + "\n", encoding="utf-8")
    return {mode: _names(mode, folder) for mode in ("streaming", "batch")}


@pytest.mark.parametrize(
    ("mode", "name"),
    [*(("streaming", name) for name in programs.STREAMING), *(("batch", name) for name in programs.BATCH)],
)
def test_a_program_has_the_answer_of_pyflink(mode: str, name: str, names: dict[str, dict[str, Any]]) -> None:
    text = (programs.STREAMING if mode == "streaming" else programs.BATCH)[name]
    expected = ANSWERS[mode][name]
    if "error" not in expected:
        assert programs.answer(text, names[mode], mode == "streaming") == expected
    elif name in MORE:
        assert programs.answer(text, names[mode], mode == "streaming")["schema"]
    else:
        with pytest.raises(PenstockError):
            programs.answer(text, names[mode], mode == "streaming")


def test_all_programs_are_recorded() -> None:
    assert {*ANSWERS["streaming"]} == {*programs.STREAMING}
    assert {*ANSWERS["batch"]} == {*programs.BATCH}
