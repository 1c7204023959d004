"""Children that start inside write to the log; we do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.jobs.output import output_to

CHATTER = "import sys; print('out'); print('err', file=sys.stderr)"


def chatter() -> None:
    subprocess.run([sys.executable, "-c", CHATTER], check=True)


def test_children_write_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    print("before")
    with output_to(log):
        chatter()
    print("after")
    assert capfd.readouterr() == ("before\nafter\n", "")
    assert sorted(log.read_text().split()) == ["err", "out"]


def test_without_a_log_nothing_changes(capfd: pytest.CaptureFixture[str]) -> None:
    with output_to(None):
        chatter()
    assert capfd.readouterr() == ("out\n", "err\n")


def test_an_error_gives_the_terminal_back(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no"), output_to(tmp_path / "log"):
        raise ValueError("no")
    chatter()
    assert capfd.readouterr() == ("out\n", "err\n")
