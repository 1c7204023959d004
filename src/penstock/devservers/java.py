"""Finds out whether Java can be started, before something tries: Spark and the servers need 17 or newer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache

from penstock.errors import ConfigError

NEEDED = 17


@cache
def check_java() -> None:
    """Nothing when Java is there and new enough; else an error that says in one line what to install."""
    java = java_command()
    if shutil.which(java) is None:
        raise _missing(f"'{java}' was not found")
    version = java_version()
    if version is None:
        raise _missing(f"'{java} -version' did not answer")
    if major_of(version) < NEEDED:
        raise _missing(f"'{java}' is version {version}")


def java_version() -> str | None:
    """The version of the Java that Spark would start; None when it does not say."""
    answer = subprocess.run([java_command(), "-version"], capture_output=True, text=True, check=False)
    return version_in(answer.stderr + answer.stdout)


def java_command() -> str:
    """Where Spark looks."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "java") if home else "java"


def version_in(text: str) -> str | None:
    """The version in what `java -version` prints.

    >>> version_in('openjdk version "17.0.15" 2025-04-15')
    '17.0.15'
    """
    found = re.search(r'version "([^"]+)"', text)
    return found.group(1) if found else None


def major_of(version: str) -> int:
    """The number that people call the version.

    >>> major_of("1.8.0_392"), major_of("17.0.15"), major_of("25-ea")
    (8, 17, 25)
    """
    numbers = re.findall(r"\d+", version) or ["0"]
    return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])


def _missing(found: str) -> ConfigError:
    return ConfigError(
        "JAVA",
        f"Penstock needs Java {NEEDED} or newer ({found}). Install a JDK, for example 'apt-get install "
        "openjdk-17-jre-headless' or 'brew install openjdk@17', or set JAVA_HOME to one.",
    )
