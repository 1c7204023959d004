"""No file of a job contains a secret: checkpoint, logs, registry, output, temporary folders."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from tests.locations import ROOT
from tests.system.secrets.job_with_secrets import TEXTS

PROGRAM = Path(__file__).with_name("job_with_secrets.py")


def found_in(content: bytes) -> list[str]:
    """Returns the secrets that are contained in some bytes, also compressed ones."""
    forms = [content]
    if content.startswith((b"\x78\x9c", b"\x78\xda", b"\x78\x01")):
        forms.append(zlib.decompressobj().decompress(content))
    encoded = {text: base64.b64encode(text.encode()).rstrip(b"=")[:-2] for text in TEXTS.values()}
    return [text for text, other in encoded.items() for form in forms if text.encode() in form or other in form]


def searched(*folders: Path) -> dict[str, list[str]]:
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    assert files
    return {str(file): secrets_found for file in files if (secrets_found := found_in(file.read_bytes()))}


def test_search_finds_secrets(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(f"password={TEXTS['sink']}")
    (tmp_path / "packed").write_bytes(zlib.compress(TEXTS["source"].encode() * 3))
    assert len(searched(tmp_path)) == 2


@pytest.mark.spark
def test_jobs_leave_no_secrets_in_files(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("checkpoints", "out", "temporary", "home", "work")}
    for folder in folders.values():
        folder.mkdir()
    environment = {
        **os.environ,
        "TMPDIR": str(folders["temporary"]),
        "PENSTOCK_HOME": str(folders["home"]),
        "PENSTOCK_OPTIONS": '{"spark.master": "local[1]", "spark.jvm-options": "-XX:TieredStopAtLevel=1"}',
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, str(PROGRAM), str(folders["checkpoints"]), str(folders["out"]), "--token", TEXTS["sink"]]
    done = subprocess.run(
        command, env=environment, cwd=folders["work"], capture_output=True, text=True, timeout=120, check=False
    )
    output = done.stdout + done.stderr
    assert "SUCCEEDED" in output, output
    assert "signed with *** by ***" in output
    assert done.returncode != 0
    assert found_in(output.encode()) == []
    assert searched(*folders.values()) == {}
    registered = "".join(f.read_text(errors="replace") for f in folders["home"].rglob("*") if f.is_file())
    assert "the key is '***'" in registered  # so what was logged is there, and redacted
    assert "--token" in registered
