"""The archive of Spark's classes: its name, who writes it, and what happens to a damaged one."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.spark.session.class_archive import ClassArchive, archive_key, find_archive, launch_options

COMPLETE = struct.pack("=I", 0xF00BABA8) + b"classes"


def written_file(archive: ClassArchive) -> Path:
    """The file that the JVM has to write."""
    return Path(archive.options()[-1].removeprefix("-XX:ArchiveClassesAtExit="))


def test_the_first_jvm_writes_the_archive_and_the_next_ones_use_it(tmp_path: Path) -> None:
    archive = ClassArchive(tmp_path / "cache", "key")
    file = written_file(archive)
    assert archive.options() == []  # another process writes it already
    file.write_bytes(COMPLETE)
    assert archive.options()[-1] == f"-XX:SharedArchiveFile={archive.file}"
    assert not file.exists()


def test_an_archive_that_is_being_written_is_not_used(tmp_path: Path) -> None:
    archive = ClassArchive(tmp_path, "key")
    file = written_file(archive)
    file.write_bytes(bytes(20))  # the JVM writes the first bytes last
    assert archive.options() == []
    assert file.exists()
    long_ago = time.time() - 90_000
    os.utime(file, (long_ago, long_ago))
    archive.options()
    assert not file.exists()


def test_a_jvm_with_the_output_of_the_program_uses_an_archive_and_writes_none(tmp_path: Path) -> None:
    """A reader of the output would wait until the archive is written."""
    archive = ClassArchive(tmp_path, "key", may_write=False)
    assert (archive.options(), archive.is_written) == ([], False)
    written_file(ClassArchive(tmp_path, "key")).write_bytes(COMPLETE)
    assert archive.options()[-1] == f"-XX:SharedArchiveFile={archive.file}"


def test_archives_that_were_never_used_are_removed(tmp_path: Path) -> None:
    left = written_file(ClassArchive(tmp_path, "removed-java"))
    left.write_bytes(COMPLETE)
    new = ClassArchive(tmp_path, "new")
    for file in (left, tmp_path / "classes-removed-java.claim"):
        os.utime(file, (1, 1))
    written_file(new).write_bytes(COMPLETE)
    new.options()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["classes-new.jsa", "classes-new.json"]


def _make_folder(file: Path) -> None:
    file.unlink()
    (file / "inside").mkdir(parents=True)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(COMPLETE[:5]),
        lambda file: file.write_bytes(COMPLETE + b"more"),
        lambda file: os.utime(file, (1, 1)),
        lambda file: file.unlink(),
        _make_folder,
        lambda file: file.with_suffix(".json").write_bytes(b""),
        lambda file: file.with_suffix(".json").write_bytes(b'{"size": "?"}'),
        lambda file: file.with_suffix(".json").unlink(),
    ],
)
def test_a_damaged_archive_is_removed_and_written_again(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    archive = ClassArchive(tmp_path, "key")
    written_file(archive).write_bytes(COMPLETE)
    archive.options()
    damage(archive.file)
    assert archive.options()[-1].startswith("-XX:ArchiveClassesAtExit=")
    assert not archive.file.exists()


def test_archives_of_other_versions_are_removed_when_they_are_not_used(tmp_path: Path) -> None:
    old, new = ClassArchive(tmp_path, "old"), ClassArchive(tmp_path, "new")
    written_file(old).write_bytes(COMPLETE)
    old.options()
    os.utime(old.file.with_suffix(".json"), (1, 1))
    written_file(new).write_bytes(COMPLETE)
    new.options()
    assert (old.file.exists(), new.file.exists()) == (False, True)


def test_the_key_depends_on_java_jars_and_class_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("")
    java.chmod(0o755)
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    jar = tmp_path / "spark" / "jars" / "a.jar"
    jar.write_text("1")
    first = archive_key(str(java), tmp_path / "spark")
    assert first == archive_key(str(java), tmp_path / "spark")
    keys = {first, archive_key(str(java), tmp_path / "spark", "/more.jar")}
    jar.write_text("22")
    keys.add(archive_key(str(java), tmp_path / "spark"))
    (tmp_path / "java" / "release").write_text("21")
    keys.add(archive_key(str(java), tmp_path / "spark"))
    assert len(keys) == 4
    (tmp_path / "spark" / "conf").mkdir()
    (tmp_path / "spark" / "conf" / "spark-defaults.conf").write_text("")
    assert archive_key(str(java), tmp_path / "spark") is None
    assert archive_key(str(tmp_path / "no_java"), tmp_path / "spark") is None


def test_an_archive_that_the_user_has_chosen_is_kept(tmp_path: Path) -> None:
    assert find_archive(tmp_path, {"spark.driver.extraJavaOptions": "-Xshare:off"}) is None


def test_options_are_set_only_while_the_jvm_is_launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dx=1")
    with launch_options(ClassArchive(tmp_path / "a b", "key")):
        options = os.environ["SPARK_SUBMIT_OPTS"]
        assert options.endswith(" -Dx=1")
        assert f'"-XX:ArchiveClassesAtExit={tmp_path}/a b/' in options
    assert os.environ["SPARK_SUBMIT_OPTS"] == "-Dx=1"
    (tmp_path / "file").write_text("")
    with launch_options(ClassArchive(tmp_path / "file", "key")):  # no folder can be created there
        assert os.environ["SPARK_SUBMIT_OPTS"] == "-Dx=1"


@pytest.mark.spark
@pytest.mark.slow
def test_a_session_starts_with_a_damaged_archive(tmp_path: Path) -> None:
    """The JVM itself rejects the archive, because its stamp is right."""
    program = (
        "import penstock as ps; from penstock.spark.session import class_archive as c, session as s\n"
        "from penstock.spark.session.spark_home import linked_spark_home, spark_home\n"
        "with linked_spark_home(): a = c.find_archive(spark_home(), {})\n"
        "a._folder.mkdir(parents=True, exist_ok=True); a.file.write_bytes(c._MAGIC + bytes(5000)); a._write_stamp()\n"
        "found = s.get_session(ps.Configuration({'spark.master': 'local[1]'})); print('rows', found.range(3).count())"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PENSTOCK_HOME": str(tmp_path / "home")}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=500)
    assert "rows 3" in done.stdout, done.stderr
