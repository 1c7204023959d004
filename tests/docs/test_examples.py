"""The programs in examples/ run, and the first of them is the program in the README."""

from __future__ import annotations

import ast
import json
import runpy
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, python_blocks

EXAMPLES = ROOT / "examples"


def run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *arguments: str) -> None:
    monkeypatch.setenv(
        "PENSTOCK_OPTIONS", json.dumps({"spark.master": "local[2]", "execution.checkpointing.dir": str(tmp_path)})
    )
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_the_readme_shows_the_first_example() -> None:
    shown = ast.parse(python_blocks(ROOT / "README.md")[0].text)
    whole = ast.parse((EXAMPLES / "totals.py").read_text(encoding="utf-8"))
    assert [ast.dump(node) for node in whole.body[1:]] == [ast.dump(node) for node in shown.body]


@pytest.mark.spark
@pytest.mark.slow
def test_silent_sensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("silent_sensors.py", monkeypatch, tmp_path)
    assert capsys.readouterr().out.splitlines() == [
        "roof has been silent since 2000",
        "door has been silent since 8000",
        "hall has been silent since 20000",
        "roof has been silent since 25000",
        "door has been silent since 27000",
    ]


@pytest.mark.spark
@pytest.mark.slow
def test_click_delays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("click_delays.py", monkeypatch, tmp_path)
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "ann clicked on shoes after 2500 ms",
        "bob clicked on hats after 1000 ms",
        "bob clicked on shoes after 200 ms",
    ]


@pytest.mark.spark
@pytest.mark.slow
def test_word_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("To be, or not to be:\nthat is the question.\n")
    run("word_count.py", monkeypatch, tmp_path, str(text), str(tmp_path / "out"))
    lines = [json.loads(line) for part in (tmp_path / "out").glob("part-*") for line in part.read_text().splitlines()]
    assert max((found["count"], found["word"]) for found in lines if found["word"] == "be") == (2, "be")
    assert len(lines) == 10
