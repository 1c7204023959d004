"""The checks of `penstock doctor`. Each returns a verdict and advice."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from penstock.config import Configuration
from penstock.config.checkpoint_options import CHECKPOINT_DIR
from penstock.config.deployment_options import MASTER
from penstock.config.state_options import LOCAL_DIR
from penstock.errors import ConfigError
from penstock.folders import HOME_VARIABLE, checkpoints_folder, create_private, state_folder, working_copies_folder
from penstock.jobs.leftovers.find import LeftoverSearch
from penstock.jobs.registry.registry import registry_of
from penstock.units import format_count, format_size

Verdict = Literal["ok", "warn", "bad"]
_GB = 1 << 30


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check, and what to do."""

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


def python(_: Configuration) -> CheckResult:
    """The Python of the workers. Functions are pickled here and run there, so the versions must be equal."""
    driver = ".".join(map(str, sys.version_info[:3]))
    command = os.environ.get("PYSPARK_PYTHON", sys.executable)
    advice = f"Unset PYSPARK_PYTHON, or set it to a Python {'.'.join(driver.split('.')[:2])} that has Penstock."
    try:
        answer = subprocess.run([command, "-V"], capture_output=True, text=True, timeout=10, check=False).stdout.split()
    except (OSError, subprocess.TimeoutExpired) as error:
        return CheckResult("Python", "bad", f"{driver}, but PYSPARK_PYTHON={command} does not run: {error}", advice)
    worker = answer[-1] if answer else "unknown"
    if worker.split(".")[:2] != driver.split(".")[:2]:
        return CheckResult("Python", "bad", f"{driver}, but {command} of the workers is {worker}", advice)
    return CheckResult("Python", "ok", f"{driver} ({sys.executable})")


def java(_: Configuration) -> CheckResult:
    try:
        from penstock.devservers.java import check_java, java_version

        check_java()
    except ConfigError as error:
        return CheckResult("Java", "bad", "not usable", error.text)
    return CheckResult("Java", "ok", java_version() or "")


_PACKAGES = {  # minimum version, first version that is too new
    "pyspark": ((4, 2), (4, 4)),
    "pandas": ((2, 2), (3,)),
    "pyarrow": ((15,), None),
    "numpy": ((1, 22), None),
    "lmdb": ((1,), None),
    "msgspec": ((0, 18), None),
}


def package(name: str) -> Callable[[Configuration], CheckResult]:
    """The check of one Python package."""
    minimum, limit = _PACKAGES[name]

    def check(_: Configuration) -> CheckResult:
        requirement = f"'{name}>={_dotted(minimum)}{f',<{_dotted(limit)}' if limit else ''}'"
        try:
            installed = version(name)
        except PackageNotFoundError:
            return CheckResult(name, "bad", "not installed", f"pip install {requirement}")
        numbers = tuple(int(n) for n in re.findall(r"\d+", installed)[:3])
        if numbers < minimum or (limit is not None and numbers >= limit):
            return CheckResult(name, "bad", installed, f"Penstock needs another version: pip install {requirement}")
        return CheckResult(name, "ok", installed)

    return check


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def jars(_: Configuration) -> CheckResult:
    """The jars of Spark, and the cache for other jars that a job needs."""
    spec = importlib.util.find_spec("pyspark")
    home = os.environ.get("SPARK_HOME") or (spec.submodule_search_locations or [""])[0] if spec else ""
    found = len(list(Path(home or "/nowhere", "jars").glob("*.jar")))
    if not found:
        return CheckResult("jars", "bad", f"none in {home or 'pyspark'}/jars", "pip install --force-reinstall pyspark")
    cache = next((c for c in sorted(Path.home().glob(".ivy2*")) if c.is_dir()), None)
    if cache is not None and not os.access(cache, os.W_OK):
        return CheckResult(
            "jars",
            "warn",
            f"{found} jars of Spark; the cache {cache} is not writable",
            "Set spark.jars.ivy to another folder.",
        )
    return CheckResult("jars", "ok", f"{found} jars of Spark; cache {cache or 'not used yet'}")


def local_state(configuration: Configuration) -> CheckResult:
    return _folder("local state", local_state_folder(configuration), LOCAL_DIR.key)


def local_state_folder(configuration: Configuration) -> str:
    return configuration.get(LOCAL_DIR) or str(working_copies_folder())


def checkpoints(configuration: Configuration) -> CheckResult:
    folder = configuration.get(CHECKPOINT_DIR) or str(checkpoints_folder())
    result = _folder("checkpoints", folder, CHECKPOINT_DIR.key)
    if result.verdict == "ok" and Path(folder).is_relative_to(tempfile.gettempdir()):
        advice = f"The temporary folder may be deleted. Set {HOME_VARIABLE} or {CHECKPOINT_DIR.key} to another folder."
        return CheckResult(result.name, "warn", result.found, advice)
    return result


def registry(configuration: Configuration) -> CheckResult:
    return _folder("registry of jobs", str(registry_of(configuration).folder), "PENSTOCK_HOME", minimum=_GB // 10)


def _folder(name: str, folder: str, option: str, minimum: int = _GB) -> CheckResult:
    """Checks that a folder is writable and has free space. A missing folder is created, as a job would do."""
    try:
        if Path(folder).is_relative_to(state_folder()):
            create_private(Path(folder))
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"penstock")
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return CheckResult(
            name,
            "bad",
            f"{folder}: {error.strerror}",
            f"Make it writable for this user, or set {option} to another folder.",
        )
    found = f"{folder}, {format_size(free)} free"
    if free < minimum // 10:
        return CheckResult(name, "bad", found, f"Free disk space, or set {option} to a folder on another disk.")
    if free < minimum:
        return CheckResult(
            name, "warn", found, f"A job with much state may fill the disk. Set {option} to a folder on a larger disk."
        )
    return CheckResult(name, "ok", found)


def ports(_: Configuration) -> CheckResult:
    """The loopback interface, over which driver and workers communicate."""
    try:
        with socket.socket() as server, socket.socket() as client:
            server.bind(("127.0.0.1", 0))
            server.listen(1)
            client.settimeout(2)
            client.connect(server.getsockname())
            return CheckResult("ports", "ok", f"127.0.0.1:{server.getsockname()[1]} is reachable")
    except OSError as error:
        advice = "Spark needs ports on 127.0.0.1. Check for a firewall, a sandbox, or a missing loopback interface."
        return CheckResult("ports", "bad", f"127.0.0.1: {error}", advice)


def host_name(configuration: Configuration) -> CheckResult:
    name = socket.gethostname()
    try:
        return CheckResult("host name", "ok", f"{name} resolves to {socket.gethostbyname(name)}")
    except OSError as error:
        local = configuration.get(MASTER).startswith("local")
        advice = f"Add '127.0.1.1 {name}' to /etc/hosts, or set SPARK_LOCAL_IP."
        if local:
            advice += " Local masters use 127.0.0.1 and do not need it."
        return CheckResult("host name", "warn" if local else "bad", f"{name} does not resolve: {error}", advice)


def memory(configuration: Configuration) -> CheckResult:
    """The available memory. The JVM of the driver needs spark.driver.memory, and workers need more."""
    free = available_memory()
    if free is None:
        return CheckResult("memory", "warn", "unknown on this system", "Make sure that about 5 GB are free.")
    driver = configuration.spark.get("spark.driver.memory", "4g")
    found = f"{format_size(free)} available; the driver may use {driver}"
    if free < _GB:
        return CheckResult(
            "memory",
            "bad",
            found,
            "Close other programs, or reduce the memory of the driver: -D spark.driver.memory=512m",
        )
    if free < _bytes(driver) + _GB:
        return CheckResult(
            "memory",
            "warn",
            found,
            "Large jobs may run out of memory. Reduce spark.driver.memory, or close other programs.",
        )
    return CheckResult("memory", "ok", found)


def available_memory() -> int | None:
    """The bytes that are available for new programs."""
    try:
        text = Path("/proc/meminfo").read_text()
        found = re.search(r"MemAvailable:\s+(\d+) kB", text)
        limit = Path("/sys/fs/cgroup/memory.max")
        most = limit.read_text().strip() if limit.exists() else "max"
        free = int(found.group(1)) * 1024 if found else None
        if free is not None and most.isdigit():
            used = int(Path("/sys/fs/cgroup/memory.current").read_text())
            free = min(free, int(most) - used)
        return free
    except OSError:
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (ValueError, OSError):
            return None


def _bytes(size: str) -> int:
    """
    >>> _bytes("4g"), _bytes("512m")
    (4294967296, 536870912)
    """
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", size.strip().lower())
    return int(found.group(1)) << {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[found.group(2)] if found else 0


def leftovers(configuration: Configuration) -> CheckResult:
    """Files of ended jobs. Jobs that start remove most of them."""
    found = LeftoverSearch(configuration).find()
    size = sum(leftover.size for leftover in found)
    text = (
        f"{format_count(len(found), 'file or folder', 'files and folders')}, {format_size(size)}" if found else "none"
    )
    if size > 5 * _GB:
        return CheckResult("leftovers", "warn", text, "'penstock doctor --clean' lists and removes them.")
    return CheckResult("leftovers", "ok", text)


def lost_jobs(configuration: Configuration) -> CheckResult:
    lost = [e for e in registry_of(configuration).entries() if e.current_status() == "lost"]
    if not lost:
        return CheckResult("lost jobs", "ok", "none")
    names = ", ".join(f"{e.id[:8]} ({e.name})" for e in lost[:3])
    advice = "Their processes do not run any more. 'penstock info JOB' shows how to resume them."
    return CheckResult("lost jobs", "warn", f"{format_count(len(lost), 'job', 'jobs')}: {names}", advice)


CHECKS: tuple[Callable[[Configuration], CheckResult], ...] = (
    python,
    java,
    *map(package, _PACKAGES),
    jars,
    local_state,
    checkpoints,
    registry,
    ports,
    host_name,
    memory,
    leftovers,
    lost_jobs,
)
