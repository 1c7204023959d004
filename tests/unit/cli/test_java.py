"""The check of the Java version, with a script in place of Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.devservers.java import check_java
from penstock.errors import ConfigError


@pytest.fixture(autouse=True)
def _clear_cache() -> None:
    check_java.cache_clear()


def java(home: Path, script: str) -> str:
    binary = home / "bin" / "java"
    binary.parent.mkdir()
    binary.write_text(f"#!/bin/sh\n{script}\n")
    binary.chmod(0o755)
    return str(home)


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, f"echo 'openjdk version \"{version}\" 2025-04-15' >&2"))
    check_java()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'java version \"1.8.0_392\"' >&2", "is version 1.8.0_392"),
        ("echo 'openjdk version \"11.0.2\"' >&2", "is version 11.0.2"),
        ("exit 1", "-version' printed no version"),
    ],
)
def test_too_old_or_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str) -> None:
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, script))
    with pytest.raises(ConfigError, match="Penstock needs Java 17 or newer") as caught:
        check_java()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_not_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match="'java' was not found"):
        check_java()
