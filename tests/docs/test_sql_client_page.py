"""The commands of the page about the SQL client print what the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "how-to" / "use-the-sql-client.md"
_FENCE = re.compile(r"^```(?P<words>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"\(\d+\.\d\d seconds\)")


def test_commands_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    fences = [(found["words"].split(), found["text"]) for found in _FENCE.finditer(PAGE.read_text(encoding="utf-8"))]
    commands = 0
    for (words, text), (next_words, expected) in zip(fences, [*fences[1:], ([""], "")], strict=True):
        if len(words) > 1:
            Path(words[1].removeprefix("file=")).write_text(text, encoding="utf-8")
        if words[0] == "sh":
            shown = CliRunner().invoke(app, shlex.split(text.strip())[1:])
            printed = shown.stdout if next_words[0] == "output" else shown.stderr
            assert _SECONDS.sub("", printed).strip() == _SECONDS.sub("", expected).strip(), text
            assert shown.exit_code == (0 if next_words[0] == "output" else 1)
            commands += 1
    assert commands == 5
