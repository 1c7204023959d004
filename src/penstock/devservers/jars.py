"""Jars in a cache: fetched once, used without a network afterwards, and checked at each use."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from penstock.errors import ConfigError
from penstock.servers import ivy
from penstock.servers.versions import Bundle, bundle_of, chosen_versions

CACHE_VARIABLE = "PENSTOCK_CACHE"
_SUMS = "checksums.json"


@dataclass(frozen=True, slots=True)
class Jars:
    """The files of a bundle on this machine."""

    name: str
    folder: Path
    files: tuple[Path, ...]
    fetched: bool  # now, or some time ago

    @property
    def class_path(self) -> str:
        return os.pathsep.join(map(str, self.files))

    @property
    def size(self) -> int:
        return sum(file.stat().st_size for file in self.files)


def cache_folder() -> Path:
    """Where fetched files are kept: PENSTOCK_CACHE, else the user's cache."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches, "penstock")


def jars_of(
    name: str, overrides: Mapping[str, str] | None = None, told: Callable[[str], None] = lambda file: None
) -> Jars:
    """A bundle's jars: from the cache, or fetched into it. `told` hears each file that is fetched."""
    bundle, versions = bundle_of(name), chosen_versions(overrides)
    folder = folder_of(bundle, versions)
    there = is_there(folder)
    if not there:
        _fetch(bundle, versions, folder, told)
    return Jars(name, folder, _checked(name, folder), fetched=not there)


def folder_of(bundle: Bundle, versions: Mapping[str, str]) -> Path:
    """One folder per choice of versions.

    >>> folder_of(bundle_of("kafka-server"), {"scala": "2.13", "kafka": "4.2.1", "log4j": "2.25.4"}).name
    'kafka-server-4.2.1-2.25.4'
    """
    return cache_folder() / "jars" / "-".join([bundle.name, *(a.split(":")[2] for a in bundle.resolved(versions))])


def _fetch(bundle: Bundle, versions: Mapping[str, str], folder: Path, told: Callable[[str], None]) -> None:
    """Appears as a whole: two processes that fetch at once do not see each other's half."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{bundle.name}-", dir=folder.parent))
    try:
        ivy.fetch(bundle.name, bundle.resolved(versions), bundle.transitive, beside, told)
        sums = {file.name: _sum_of(file) for file in sorted(beside.glob("*.jar"))}
        _compare(bundle.name, sums, known_sums().get(folder.name, {}), "the release of Penstock")
        (beside / _SUMS).write_text(json.dumps(sums, indent=1))
        try:
            beside.rename(folder)
        except OSError:  # another process was faster
            if not is_there(folder):
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@cache
def known_sums() -> dict[str, dict[str, str]]:
    """What the jars of the table's own versions must be: folder to file to checksum."""
    text = (resources.files("penstock.servers") / "known_checksums.json").read_text()
    sums: dict[str, dict[str, str]] = json.loads(text)
    return sums


def is_there(folder: Path) -> bool:
    """Whether a bundle's folder has been fetched."""
    return (folder / _SUMS).exists()


def checksums_in(folder: Path) -> dict[str, str]:
    """What was recorded when a folder was fetched."""
    sums: dict[str, str] = json.loads((folder / _SUMS).read_text())
    return sums


def _checked(name: str, folder: Path) -> tuple[Path, ...]:
    recorded = checksums_in(folder)
    found = {file: _sum_of(folder / file) for file in recorded if (folder / file).exists()}
    _compare(name, found, recorded, f"{folder / _SUMS}")
    return tuple(folder / file for file in sorted(recorded))


def _compare(name: str, found: Mapping[str, str], expected: Mapping[str, str], who: str) -> None:
    for file, checksum in expected.items():
        if found.get(file) != checksum:
            what = f"has the SHA-256 checksum {found[file]}" if file in found else "is missing"
            raise ConfigError(
                "JARS_CHECKSUM",
                f"{file} of the jars '{name}' {what}; {who} expects {checksum}. It was damaged or changed: "
                f"remove the folder {cache_folder() / 'jars'} and run 'penstock jars {name}' again.",
            )


def _sum_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
