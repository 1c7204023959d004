"""Why Spark itself does not start, in our words."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from penstock.errors import ConfigError

NEEDED = (4, 2)
_MASTER_WORDS = ("Could not parse Master URL", "All masters are unresponsive", "Master must either be")
_SAID = 6000  # characters at the end of Spark's output that are looked at


def installed_pyspark() -> str | None:
    """The installed version, without importing it; None where it is not a package, as in Spark's own distribution."""
    try:
        return version("pyspark")
    except PackageNotFoundError:
        return None


def check_pyspark(installed: str | None) -> None:
    """Refuses a PySpark that lacks what Penstock needs."""
    if installed is None:
        return
    found = tuple(int(part) for part in re.findall(r"\d+", installed)[:2])
    if found < NEEDED:
        raise ConfigError(
            "PYSPARK",
            f"PySpark {installed} is installed, and Penstock needs {NEEDED[0]}.{NEEDED[1]} or newer. "
            f"Install it: pip install 'pyspark>={NEEDED[0]}.{NEEDED[1]}'.",
        )


def start_error(error: Exception, master: str, log: Path | None = None) -> ConfigError:
    """The error to raise when no session can be had; a JVM that dies at once says why in the log only."""
    said = log.read_text(errors="replace")[-_SAID:] if log is not None and log.exists() else ""
    text = f"{error}\n{said}"
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
    if any(words in text for words in _MASTER_WORDS):
        return ConfigError(
            "SPARK_MASTER",
            f"Spark's master '{master}' cannot be reached or read. Use local[2] to run on this machine, or the URL that the "
            "cluster shows, such as spark://host:7077.",
        )
    first = str(error).splitlines()[0][:300] if str(error) else type(error).__name__
    words = [line.strip() for line in said.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    last = " ".join(words[-3:])
    return ConfigError(
        "SPARK_START",
        f"Spark does not start on master '{master}': {first}. {f'It said: {last} ' if last else ''}"
        "Check Java (java -version) and the options that begin with spark.; 'penstock doctor' looks for causes"
        f"{f', and Spark wrote to {log}' if log is not None else ''}.",
    )


def _cause(text: str, name: str) -> str:
    found = re.search(rf"{name}:? ?([^\n]*)", text)
    return (found.group(1).strip() if found and found.group(1).strip() else "no address is free")[:200]
