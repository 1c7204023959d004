"""Checks that Java is installed and new enough for Spark and the servers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache

from penstock.errors import ConfigError

MIN_VERSION = 17


@cache
def check_java() -> None:
    """Raises ConfigError if Java is missing or too old."""
    java = java_command()
    if shutil.which(java) is None:
        raise _java_error(f"'{java}' was not found")
    version = java_version()
    if version is None:
        raise _java_error(f"'{java} -version' printed no version")
    if major_version(version) < MIN_VERSION:
        raise _java_error(f"'{java}' is version {version}")


def java_version() -> str | None:
    """The version of the Java that Spark would start; None if it prints no version."""
    answer = subprocess.run([java_command(), "-version"], capture_output=True, text=True, check=False)
    return parse_version(answer.stderr + answer.stdout)


def java_command() -> str:
    """The Java command that Spark uses."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "java") if home else "java"


def parse_version(text: str) -> str | None:
    """The version in the output of `java -version`.

    >>> parse_version('openjdk version "17.0.15" 2025-04-15')
    '17.0.15'
    """
    found = re.search(r'version "([^"]+)"', text)
    return found.group(1) if found else None


def major_version(version: str) -> int:
    """The major version.

    >>> major_version("1.8.0_392"), major_version("17.0.15"), major_version("25-ea")
    (8, 17, 25)
    """
    numbers = re.findall(r"\d+", version) or ["0"]
    return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])


def _java_error(found: str) -> ConfigError:
    return ConfigError(
        "JAVA",
        f"Penstock needs Java {MIN_VERSION} or newer ({found}). Install a JDK, for example 'apt-get install "
        "openjdk-17-jre-headless' or 'brew install openjdk@17', or set JAVA_HOME to one.",
    )
