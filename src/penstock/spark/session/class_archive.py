"""An archive of the classes that Spark loads, so that the JVM of the next job starts faster (class-data sharing).

The first JVM writes the archive when it ends, which delays nothing: the program has ended before, and the JVM then has the lowest
priority, so that it yields the processors to the next program. The archive is a file of the
user's cache folder, and may be deleted at any time. Its name contains a digest of Java and of Spark's jars. A file `.json`
beside it has its size and time, because the JVM does not check the contents of an archive that has changed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import struct
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from penstock.atomic_file import write_atomic
from penstock.devservers.java import java_command
from penstock.folders import cache_folder

_OPTIONS = "SPARK_SUBMIT_OPTS"  # the variable with JVM options that Spark's launcher reads
_LAUNCHER_OPTIONS = "SPARK_LAUNCHER_OPTS"  # of the JVM that only prints the command of the other one
_LAUNCHER = "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_MAGIC = struct.pack("=I", 0xF00BABA8)  # the JVM writes these first bytes of a dynamic archive last
_CLAIM_SECONDS = 3600.0  # after this time another JVM may write an archive that has not appeared
_KEEP_SECONDS = 30 * 86400.0  # archives of other versions that were not used for so long are removed
_CHOSEN_BY_USER = ("-Xshare", "SharedArchiveFile", "ArchiveClassesAtExit", "AOTCache")
_log = logging.getLogger("penstock.spark")


class _Stamp(msgspec.Struct):
    """What identifies the file of an archive."""

    size: int
    mtime_ns: int


class ClassArchive:
    """The archive of one version of Java and one set of jars.

    >>> import tempfile
    >>> archive = ClassArchive(Path(tempfile.mkdtemp()), "4.2.0-0123456789ab")
    >>> archive.options()[-1].startswith("-XX:ArchiveClassesAtExit="), archive.options()  # only the first JVM writes it
    (True, [])
    """

    def __init__(self, folder: Path, key: str, may_write: bool = True) -> None:
        self._folder = folder
        self._may_write = may_write
        self.file = folder / f"classes-{key}.jsa"
        self._stamp = folder / f"classes-{key}.json"
        self._claim = folder / f"classes-{key}.claim"
        self.is_written = False  # by the JVM that was launched with the options

    def options(self) -> list[str]:
        """The JVM options that use the archive, or that write it when the JVM ends. Raises OSError if the folder is unusable."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._adopt()
        quiet = ["-XX:+IgnoreUnrecognizedVMOptions", "-Xlog:disable", "-Xlog:all=error:stderr"]
        if self._is_usable():
            os.utime(self._stamp)  # the time of its last use
            return [*quiet, "-Xshare:auto", f"-XX:SharedArchiveFile={self.file}"]
        if not self._may_write or not self._take_claim():
            return []
        self.is_written = True
        return [*quiet, f"-XX:ArchiveClassesAtExit={self._written_file(os.getpid())}"]

    def discard(self) -> None:
        """Removes an archive with which no JVM has started."""
        for file in (self.file, self._stamp):
            _remove(file)

    def _written_file(self, process: int) -> Path:
        return self._folder / f".{self.file.name}.{process}"

    def _adopt(self) -> None:
        """Renames an archive that a JVM has written completely, and removes what is left of others."""
        for written in self._folder.glob(f".{self.file.name}.*"):
            is_complete = _begins_with_magic(written)
            if self.file.exists() or (not is_complete and written.stat().st_mtime < time.time() - _CLAIM_SECONDS):
                _remove(written)
            elif is_complete:
                _remove(self._stamp)
                os.replace(written, self.file)
                self._write_stamp()
                _remove(self._claim)
                self._remove_unused()

    def _write_stamp(self) -> None:
        found = self.file.stat()
        write_atomic(self._stamp, msgspec.json.encode(_Stamp(found.st_size, found.st_mtime_ns)), durable=False)

    def _is_usable(self) -> bool:
        """Whether the archive is the file that was written. Removes another file."""
        try:
            stamp = msgspec.json.decode(self._stamp.read_bytes(), type=_Stamp)
            found = self.file.stat()
            if (
                self.file.is_file()
                and os.access(self.file, os.R_OK)
                and (found.st_size, found.st_mtime_ns) == (stamp.size, stamp.mtime_ns)
            ):
                return True
        except (OSError, msgspec.DecodeError):
            pass
        self.discard()
        return False

    def _take_claim(self) -> bool:
        """Whether this process may write the archive. Of several that start together one does."""
        with suppress(OSError):
            if self._claim.stat().st_mtime < time.time() - _CLAIM_SECONDS:
                _remove(self._claim)
        try:
            os.close(os.open(self._claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError:
            return False
        return True

    def _remove_unused(self) -> None:
        for stamp in self._folder.glob("classes-*.json"):
            with suppress(OSError):
                if stamp.stat().st_mtime < time.time() - _KEEP_SECONDS:
                    _remove(stamp.with_suffix(".jsa"))
                    _remove(stamp)
        for other in (*self._folder.glob(".classes-*.jsa.*"), *self._folder.glob("classes-*.claim")):
            with suppress(OSError):  # of a Java or Spark that was removed before the archive was used
                if other.stat().st_mtime < time.time() - _KEEP_SECONDS:
                    _remove(other)


def _begins_with_magic(file: Path) -> bool:
    try:
        with open(file, "rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _remove(file: Path) -> None:
    with suppress(OSError):
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file, ignore_errors=True)
        else:
            file.unlink(missing_ok=True)


def archive_key(java: str, spark_home: Path, class_path: str = "") -> str | None:
    """A name for the archives of a Java and a Spark; None if archives cannot be used with them."""
    found = shutil.which(java)
    jars = spark_home / "jars"
    if found is None or not jars.is_dir():
        return None
    conf = Path(os.environ.get("SPARK_CONF_DIR") or spark_home / "conf")
    if conf.is_dir() and any(conf.iterdir()):  # the JVM makes no archive for a class path with a folder that has files
        return None
    home = Path(found).resolve().parent.parent
    digest = hashlib.sha256(f"{home}\0{jars}\0{conf}\0{class_path}".encode())
    for file in [home / "release", home / "lib" / "modules", *sorted(jars.glob("*.jar"))]:
        with suppress(OSError):
            status = file.stat()
            digest.update(f"{file.name}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]


def find_archive(spark_home: Path, settings: Mapping[str, str], may_write: bool = True) -> ClassArchive | None:
    """The archive for a JVM with these settings of Spark; None if the user has chosen another one, or it cannot be used.

    A JVM whose output is that of the program must not write it, because a reader of the output would wait for the JVM.
    """
    variables = (_OPTIONS, "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS")
    chosen = " ".join([settings.get("spark.driver.extraJavaOptions", ""), *(os.environ.get(v, "") for v in variables)])
    if any(name in chosen for name in _CHOSEN_BY_USER):
        return None
    try:
        key = archive_key(java_command(), spark_home, settings.get("spark.driver.extraClassPath", ""))
    except OSError:
        return None
    return None if key is None else ClassArchive(cache_folder(), key, may_write)


@contextmanager
def launch_options(archive: ClassArchive | None) -> Iterator[None]:
    """Sets the options of a JVM that is launched in the block. The launch must not fail because of them."""
    before = {name: os.environ.get(name) for name in (_OPTIONS, _LAUNCHER_OPTIONS)}
    os.environ.setdefault(_LAUNCHER_OPTIONS, _LAUNCHER)
    if archive is not None:
        try:
            options = archive.options()
        except OSError as error:
            _log.info("Spark starts without an archive of its classes: %s", error)
            options = []
        os.environ[_OPTIONS] = " ".join([*map(_quote, options), before[_OPTIONS] or ""]).strip()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _quote(option: str) -> str:
    """Quotes an option as Spark's launcher reads it."""
    return '"' + option.replace("\\", "\\\\").replace('"', '\\"') + '"' if " " in option else option
