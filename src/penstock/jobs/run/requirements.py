"""Installs the packages of a requirements file, once per content of the file."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from penstock.errors import ConfigError
from penstock.folders import cache_folder, private_folder, remove_private_folder


def installed_packages(requirements: str, cache: str | None = None) -> str:
    """Returns the path of an archive of the packages. With `cache` they come from a folder of downloaded packages."""
    digest = hashlib.sha256(Path(requirements).read_bytes()).hexdigest()[:16]
    archive = cache_folder() / "packages" / f"{digest}.zip"
    if _is_intact(archive):
        os.utime(archive)  # the cache removes what was not used for long
        return str(archive)
    folder = str(private_folder("packages"))
    try:
        return _install_into(folder, archive, requirements, cache)
    finally:
        remove_private_folder(Path(folder))


def _is_intact(archive: Path) -> bool:
    try:
        with zipfile.ZipFile(archive) as packed:
            return packed.testzip() is None
    except (OSError, zipfile.BadZipFile):
        return False


def _install_into(folder: str, archive: Path, requirements: str, cache: str | None) -> str:
    target = os.path.join(folder, "installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", target, "-r", requirements]
    if cache is not None:
        command += ["--no-index", "--find-links", cache]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise ConfigError(
            "REQUIREMENTS",
            f"The packages of {requirements} cannot be installed: {completed.stderr.strip()[-800:]} Correct the file.",
        )
    packed = shutil.make_archive(os.path.join(folder, "packed"), "zip", target)
    archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    aside = archive.with_name(f".{archive.name}.{os.getpid()}")
    shutil.move(packed, aside)  # the cache may be on another disk
    if archive.is_dir():
        shutil.rmtree(archive)
    os.replace(aside, archive)
    return str(archive)
