"""What `penstock doctor` looks at: each check finds something, judges it, and says what to do."""

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

from penstock.cli.words import counted, size_of
from penstock.config import CHECKPOINT_DIR, LOCAL_DIR, LOCAL_KEEP, MASTER, Configuration
from penstock.errors import ConfigError
from penstock.jobs.registry import registry_of

Verdict = Literal["ok", "warn", "bad"]
_GB = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found, and what to do about it."""

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


def python(_: Configuration) -> Finding:
    """Functions are pickled here and run by the workers' Python, which must be of the same version."""
    mine = ".".join(map(str, sys.version_info[:3]))
    worker = os.environ.get("PYSPARK_PYTHON", sys.executable)
    advice = f"Unset PYSPARK_PYTHON, or set it to a Python {'.'.join(mine.split('.')[:2])} that has Penstock."
    try:
        answer = subprocess.run([worker, "-V"], capture_output=True, text=True, timeout=10, check=False).stdout.split()
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("Python", "bad", f"{mine}, but PYSPARK_PYTHON={worker} does not run: {error}", advice)
    theirs = answer[-1] if answer else "unknown"
    if theirs.split(".")[:2] != mine.split(".")[:2]:
        return Finding("Python", "bad", f"{mine}, but {worker} of the workers is {theirs}", advice)
    return Finding("Python", "ok", f"{mine} ({sys.executable})")


def java(_: Configuration) -> Finding:
    try:
        from penstock.servers.java import check_java, java_version

        check_java()
    except ConfigError as error:
        return Finding("Java", "bad", "not usable", error.text)
    return Finding("Java", "ok", java_version() or "")


_PACKAGES = {  # least version, first version that is too new
    "pyspark": ((4, 2), (4, 4)),
    "pandas": ((2, 2), (3,)),
    "pyarrow": ((15,), None),
    "numpy": ((1, 22), None),
    "lmdb": ((1,), None),
    "msgspec": ((0, 18), None),
}


def package(name: str) -> Callable[[Configuration], Finding]:
    """The check of one Python package."""
    least, beyond = _PACKAGES[name]

    def check(_: Configuration) -> Finding:
        wanted = f"'{name}>={_dotted(least)}{f',<{_dotted(beyond)}' if beyond else ''}'"
        try:
            found = version(name)
        except PackageNotFoundError:
            return Finding(name, "bad", "not installed", f"pip install {wanted}")
        numbers = tuple(int(n) for n in re.findall(r"\d+", found)[:3])
        if numbers < least or (beyond is not None and numbers >= beyond):
            return Finding(name, "bad", found, f"Penstock was made for another version: pip install {wanted}")
        return Finding(name, "ok", found)

    return check


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def jars(_: Configuration) -> Finding:
    """Spark's own jars, and the folder where more are kept that a job asks for."""
    spec = importlib.util.find_spec("pyspark")
    home = os.environ.get("SPARK_HOME") or (spec.submodule_search_locations or [""])[0] if spec else ""
    found = len(list(Path(home or "/nowhere", "jars").glob("*.jar")))
    if not found:
        return Finding("jars", "bad", f"none in {home or 'pyspark'}/jars", "pip install --force-reinstall pyspark")
    cache = next((c for c in sorted(Path.home().glob(".ivy2*")) if c.is_dir()), None)
    if cache is not None and not os.access(cache, os.W_OK):
        return Finding(
            "jars",
            "warn",
            f"{found} of Spark's; the cache {cache} is not writable",
            "Set spark.jars.ivy to another folder.",
        )
    return Finding("jars", "ok", f"{found} of Spark's; cache {cache or 'not used yet'}")


def local_state(configuration: Configuration) -> Finding:
    return _folder("local state", local_state_folder(configuration), LOCAL_DIR.key)


def local_state_folder(configuration: Configuration) -> str:
    return configuration.get(LOCAL_DIR) or os.path.join(tempfile.gettempdir(), "penstock-state")


def checkpoints(configuration: Configuration) -> Finding:
    chosen: str = configuration.get(CHECKPOINT_DIR)
    finding = _folder(
        "checkpoints", chosen or os.path.join(tempfile.gettempdir(), "penstock-checkpoints"), CHECKPOINT_DIR.key
    )
    if finding.verdict == "ok" and not chosen:
        advice = f"The temporary folder may be emptied: set {CHECKPOINT_DIR.key} for jobs that matter."
        return Finding(finding.name, "warn", finding.found, advice)
    return finding


def registry(configuration: Configuration) -> Finding:
    return _folder("registry of jobs", str(registry_of(configuration).folder), "PENSTOCK_HOME", least=_GB // 10)


def _folder(name: str, folder: str, option: str, least: int = _GB) -> Finding:
    """A folder that must be writable and have room; it is made if it is missing, as a job would."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"penstock")
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return Finding(
            name, "bad", f"{folder}: {error.strerror}", f"Give it to this user, or set {option} to another folder."
        )
    found = f"{folder}, {size_of(free)} free"
    if free < least // 10:
        return Finding(name, "bad", found, f"Make room, or set {option} to a folder on another disk.")
    if free < least:
        return Finding(name, "warn", found, f"A job with much state may fill it: set {option} to a larger disk.")
    return Finding(name, "ok", found)


def ports(_: Configuration) -> Finding:
    """Driver and workers talk over ports of this machine."""
    try:
        with socket.socket() as server, socket.socket() as client:
            server.bind(("127.0.0.1", 0))
            server.listen(1)
            client.settimeout(2)
            client.connect(server.getsockname())
            return Finding("ports", "ok", f"127.0.0.1:{server.getsockname()[1]} was bound and reached")
    except OSError as error:
        advice = "Spark needs ports on 127.0.0.1: look for a firewall, a sandbox, or no loopback interface."
        return Finding("ports", "bad", f"127.0.0.1: {error}", advice)


def host_name(configuration: Configuration) -> Finding:
    name = socket.gethostname()
    try:
        return Finding("host name", "ok", f"{name} is {socket.gethostbyname(name)}")
    except OSError as error:
        local = configuration.get(MASTER).startswith("local")
        advice = f"Add '127.0.1.1 {name}' to /etc/hosts, or set SPARK_LOCAL_IP."
        if local:
            advice += " Local masters are bound to 127.0.0.1 and do without."
        return Finding("host name", "warn" if local else "bad", f"{name} does not resolve: {error}", advice)


def memory(configuration: Configuration) -> Finding:
    """The driver's JVM takes what spark.driver.memory says; workers come on top."""
    free = available_memory()
    if free is None:
        return Finding("memory", "warn", "unknown on this system", "Make sure that some 5 GB are free.")
    asked = configuration.spark.get("spark.driver.memory", "4g")
    found = f"{size_of(free)} available; the driver may take {asked}"
    if free < _GB:
        return Finding("memory", "bad", found, "Close other programs, or lower it: -D spark.driver.memory=512m")
    if free < _bytes(asked) + _GB:
        return Finding(
            "memory", "warn", found, "Large jobs may run out: lower spark.driver.memory, or close other programs."
        )
    return Finding("memory", "ok", found)


def available_memory() -> int | None:
    """Bytes that new programs may have."""
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


def working_copies(configuration: Configuration) -> Finding:
    """What jobs that are over left on the local disk: it makes resuming faster, and goes away by itself."""
    running = {e.id for e in registry_of(configuration).entries() if not e.is_over}
    folder = Path(local_state_folder(configuration))
    left = [f for f in folder.iterdir() if f.is_dir() and f.name not in running] if folder.is_dir() else []
    size = sum(s.st_blocks * 512 for f in left for p in f.rglob("*") if (s := _stat(p)) is not None)
    found = f"{counted(len(left), 'job', 'jobs')}, {size_of(size)}" if left else "none"
    if size > 5 * _GB:
        advice = f"Remove folders of jobs that you will not resume from {folder}, or lower {LOCAL_KEEP.key}."
        return Finding("leftover working copies", "warn", found, advice)
    return Finding("leftover working copies", "ok", found)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:  # its job removed it meanwhile
        return None


def lost_jobs(configuration: Configuration) -> Finding:
    lost = [e for e in registry_of(configuration).entries() if e.status_now() == "lost"]
    if not lost:
        return Finding("lost jobs", "ok", "none")
    names = ", ".join(f"{e.id[:8]} ({e.name})" for e in lost[:3])
    advice = "Their processes died; 'penstock info JOB' says how to go on with them."
    return Finding("lost jobs", "warn", f"{counted(len(lost), 'job', 'jobs')}: {names}", advice)


CHECKS: tuple[Callable[[Configuration], Finding], ...] = (
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
    working_copies,
    lost_jobs,
)
