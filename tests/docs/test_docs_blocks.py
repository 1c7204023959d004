"""Every Python block of the documentation runs and prints the documented output."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Block, blocks, main_program, pages, python_blocks, run

_KNOWN = {"python", "sh", "sql", "text", "output", "json", "yaml", "toml", "mermaid", "Dockerfile"}
_WORDS = {"spark", "fragment", "kafka", "background", "savepoint"}  # the last ones: sql_pages.py


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", pages(), ids=_name)
def test_code_fences_have_a_language(page: Path) -> None:
    for block in blocks(page):
        assert block.language in _KNOWN, f"{_name(page)}:{block.line}: {block.words}"
        assert {w for w in block.words[1:] if not w.startswith("file=")} <= _WORDS, (
            f"{_name(page)}:{block.line}: {block.words}"
        )


def _run_all(page: Path, chosen: list[Block]) -> None:
    with main_program(page) as module:
        for block in chosen:
            run(block, module)


_plain = [p for p in pages() if any(not b.has("spark") for b in python_blocks(p))]
_spark = [p for p in pages() if any(b.has("spark") for b in python_blocks(p))]


@pytest.mark.parametrize("page", _plain, ids=_name)
def test_blocks_without_spark(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_OPTIONS", '{"execution.engine": "no.engine:here"}')  # nothing may need Spark
    _run_all(page, [b for b in python_blocks(page) if not b.has("spark")])


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("page", _spark, ids=_name)
def test_blocks_on_spark(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(
        "PENSTOCK_OPTIONS", f'{{"spark.master": "local[2]", "execution.checkpointing.dir": "{tmp_path}"}}'
    )
    _run_all(page, python_blocks(page))


def test_the_readme_has_two_commands_and_a_short_program() -> None:
    found = blocks(ROOT / "README.md")
    shell = next(b for b in found if b.language == "sh")
    assert [line.split()[:2] for line in shell.text.splitlines()] == [["make", "demo"], ["make", "test"]]
    program = next(b for b in found if b.language == "python")
    assert program.output is not None
    assert len([line for line in program.text.splitlines() if line.strip()]) <= 12
    assert os.path.exists(ROOT / "docs" / "images" / "layers.svg")
