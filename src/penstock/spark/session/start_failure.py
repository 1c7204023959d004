"""Errors for a Spark that does not start."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from penstock.errors import ConfigError

REQUIRED_PYSPARK = (4, 2)
_MASTER_MESSAGES = ("Could not parse Master URL", "All masters are unresponsive", "Master must either be")
_OUTPUT_LENGTH = 6000  # characters at the end of Spark's output that are searched


def installed_pyspark() -> str | None:
    """The installed version, read without importing it; None if it is not a package, as in the Spark distribution."""
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return None


def check_pyspark(installed: str | None) -> None:
    """Raises an error if PySpark is too old."""
    if installed is None:
        return
    found = tuple(int(part) for part in re.findall(r"\d+", installed)[:2])
    if found < REQUIRED_PYSPARK:
        raise ConfigError(
            "PYSPARK",
            f"PySpark {installed} is installed, but Penstock needs {REQUIRED_PYSPARK[0]}.{REQUIRED_PYSPARK[1]} or newer. "
            f"Install it: pip install 'pyspark>={REQUIRED_PYSPARK[0]}.{REQUIRED_PYSPARK[1]}'.",
        )


def start_error(error: Exception, master: str, log: Path | None = None) -> ConfigError:
    """The error to raise if no session can be created. A JVM that ends immediately reports its reason only in the log."""
    output = log.read_text(errors="replace")[-_OUTPUT_LENGTH:] if log is not None and log.exists() else ""
    text = f"{error}\n{output}"
    if "BindException" in text or "Cannot assign requested address" in text:
        return ConfigError(
            "SPARK_BIND",
            f"Spark's driver cannot listen on its address ({_cause(text, 'BindException')}). Set spark.driver.bindAddress "
            "to an address of this machine, such as 127.0.0.1 for a local master, or free the port in spark.driver.port.",
        )
    if "UnknownHostException" in text:
        return ConfigError(
            "SPARK_HOST",
            f"A host name cannot be found ({_cause(text, 'UnknownHostException')}). Correct the name in spark.master or "
            "spark.driver.host, or add this machine's own name to /etc/hosts.",
        )
    if any(message in text for message in _MASTER_MESSAGES):
        return ConfigError(
            "SPARK_MASTER",
            f"Spark's master '{master}' is invalid or cannot be reached. Use local[2] to run on this machine, or the URL that the "
            "cluster shows, such as spark://host:7077.",
        )
    first = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    last = " ".join(lines[-3:])
    return ConfigError(
        "SPARK_START",
        f"Spark does not start on master '{master}': {first}. {f'Its last output: {last} ' if last else ''}"
        "Check Java (java -version) and the options that begin with spark.; 'penstock doctor' searches for causes"
        f"{f', and Spark wrote to {log}' if log is not None else ''}.",
    )


def _cause(text: str, name: str) -> str:
    found = re.search(rf"{name}:? ?([^\n]*)", text)
    return (found.group(1).strip() if found and found.group(1).strip() else "no address is free")[:200]
