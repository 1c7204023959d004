"""The cache of jars: downloaded once, then used without a network, and verified at each use."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import msgspec

from penstock.atomic_file import remove_file
from penstock.devservers import ivy
from penstock.devservers.versions import Bundle, chosen_versions, find_bundle
from penstock.errors import ConfigError
from penstock.folders import cache_folder

_SUMS = "checksums.json"


@dataclass(frozen=True, slots=True)
class Jars:
    """The files of a bundle on this machine."""

    name: str
    folder: Path
    files: tuple[Path, ...]
    fetched: bool  # whether they were downloaded by this call

    @property
    def class_path(self) -> str:
        return os.pathsep.join(map(str, self.files))

    @property
    def size(self) -> int:
        return sum(file.stat().st_size for file in self.files)


def get_jars(
    name: str, overrides: Mapping[str, str] | None = None, on_file: Callable[[str], None] = lambda file: None
) -> Jars:
    """Returns the jars of a bundle, and downloads them if they are not in the cache. `on_file` is called for each download."""
    bundle, versions = find_bundle(name), chosen_versions(overrides)
    folder = bundle_folder(bundle, versions)
    cached = is_cached(folder) and _is_intact(folder)
    if not cached:
        _fetch(bundle, versions, folder, on_file)
    with suppress(OSError):
        os.utime(folder)  # the cache removes what was not used for long
    return Jars(name, folder, tuple(folder / file for file in sorted(recorded_checksums(folder))), fetched=not cached)


def bundle_folder(bundle: Bundle, versions: Mapping[str, str]) -> Path:
    """The folder of a bundle. Each combination of versions has its own folder.

    >>> bundle_folder(find_bundle("kafka-server"), {"scala": "2.13", "kafka": "4.2.1", "log4j": "2.25.4"}).name
    'kafka-server-4.2.1-2.25.4'
    """
    return cache_folder() / "jars" / "-".join([bundle.name, *(a.split(":")[2] for a in bundle.resolved(versions))])


def _fetch(bundle: Bundle, versions: Mapping[str, str], folder: Path, on_file: Callable[[str], None]) -> None:
    """Downloads into a temporary folder and renames it, because several processes may download at the same time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{bundle.name}-", dir=folder.parent))
    try:
        ivy.fetch(bundle.name, bundle.resolved(versions), bundle.transitive, staging, on_file)
        sums = {file.name: _checksum(file) for file in sorted(staging.glob("*.jar"))}
        _compare(bundle.name, sums, known_checksums().get(folder.name, {}), "the release of Penstock")
        (staging / _SUMS).write_text(json.dumps(sums, indent=1))
        if not _is_intact(folder):  # otherwise another process was faster
            remove_file(folder)
            staging.rename(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@cache
def known_checksums() -> dict[str, dict[str, str]]:
    """The expected checksums of the default versions: folder to file to checksum."""
    text = (resources.files("penstock.devservers") / "known_checksums.json").read_text()
    sums: dict[str, dict[str, str]] = json.loads(text)
    return sums


def is_cached(folder: Path) -> bool:
    """Whether the folder of a bundle is complete."""
    return (folder / _SUMS).exists()


def recorded_checksums(folder: Path) -> dict[str, str]:
    """The checksums that were recorded at the download; none if their file is damaged."""
    try:
        return msgspec.json.decode((folder / _SUMS).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}


def _is_intact(folder: Path) -> bool:
    """Whether all files of a bundle have their checksums. If not, the bundle is downloaded again."""
    recorded = recorded_checksums(folder)
    try:
        return bool(recorded) and all(_checksum(folder / file) == checksum for file, checksum in recorded.items())
    except OSError:
        return False


def _compare(name: str, found: Mapping[str, str], expected: Mapping[str, str], who: str) -> None:
    for file, checksum in expected.items():
        if found.get(file) != checksum:
            what = f"has the SHA-256 checksum {found[file]}" if file in found else "is missing"
            raise ConfigError(
                "JARS_CHECKSUM",
                f"{file} of the jars '{name}' {what}; {who} expects {checksum}. The file is damaged or was changed. "
                f"Remove the folder {cache_folder() / 'jars'} and run 'penstock jars {name}' again.",
            )


def _checksum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
