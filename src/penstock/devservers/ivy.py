"""Fetches jars with the Ivy that Spark brings: it knows where jars are kept, and needs neither Maven nor a Spark session."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from penstock.errors import ConfigError
from penstock.servers.java import check_java, java_command

SETTINGS_VARIABLE = "PENSTOCK_IVY_SETTINGS"
_UNREACHABLE = ("UnknownHostException", "ConnectException", "NoRouteToHost", "SocketTimeout", "timed out", "refused")
_LAST_LINES = 12


def fetch(name: str, artifacts: Sequence[str], transitive: bool, folder: Path, told: Callable[[str], None]) -> None:
    """Puts artifacts, with their dependencies if that is asked, into a folder. `told` hears each file that is fetched."""
    check_java()
    with tempfile.TemporaryDirectory(prefix="penstock-ivy-") as scratch:
        wanted = Path(scratch, "ivy.xml")
        wanted.write_text(_wanted(name, artifacts, transitive))
        command = [java_command(), "-Xmx256m", "-jar", str(_ivy()), "-cache", f"{scratch}/cache", "-ivy", str(wanted)]
        command += ["-confs", "default", "-retrieve", f"{folder}/[artifact]-[revision](-[classifier]).[ext]"]
        if settings := os.environ.get(SETTINGS_VARIABLE):
            command += ["-settings", settings]
        code, lines = _run(command, told)
    if code != 0:
        raise _failure(name, artifacts, lines)


def _wanted(name: str, artifacts: Sequence[str], transitive: bool) -> str:
    """What Ivy is asked for, in its own language."""
    lines = [
        '<ivy-module version="2.0">',
        f'<info organisation="penstock" module={quoteattr(name)}/>',
        "<dependencies>",
    ]
    for artifact in artifacts:
        organisation, module, version = artifact.split(":")
        lines.append(
            f"<dependency org={quoteattr(organisation)} name={quoteattr(module)} rev={quoteattr(version)} "
            f'transitive="{str(transitive).lower()}" conf="default"/>'
        )
    return "\n".join([*lines, "</dependencies>", "</ivy-module>"])


def _run(command: list[str], told: Callable[[str], None]) -> tuple[int, list[str]]:
    lines: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as ivy:
        assert ivy.stdout is not None
        for line in ivy.stdout:
            lines.append(line.rstrip())
            if line.startswith("downloading ") and ".jar" in line:
                told(line.split()[1].rsplit("/", 1)[-1])
    return ivy.returncode, lines


def _ivy() -> Path:
    spec = importlib.util.find_spec("pyspark")
    home = os.environ.get("SPARK_HOME") or ((spec.submodule_search_locations or [""])[0] if spec else "")
    found = sorted(Path(home or "/nowhere", "jars").glob("ivy-*.jar"))
    if not found:
        raise ConfigError("NO_IVY", f"Spark's jars in {home}/jars hold no ivy: pip install --force-reinstall pyspark")
    return found[-1]


def _failure(name: str, artifacts: Sequence[str], lines: list[str]) -> ConfigError:
    text = "\n".join(lines)
    missing = [line.strip(": \t") for line in lines if line.rstrip().endswith(": not found")]
    if any(word in text for word in _UNREACHABLE):
        return ConfigError(
            "JARS_NO_NETWORK",
            f"The jars '{name}' ({', '.join(artifacts)}) are not in the cache, and the place where jars are kept cannot be "
            f"reached. Run 'penstock jars {name}' once with a network, or copy the cache of a machine that has it; "
            f"{SETTINGS_VARIABLE} may name a settings file of Ivy with another place.",
        )
    if missing:
        return ConfigError(
            "JARS_NOT_FOUND",
            f"The jars '{name}' cannot be fetched: {'; '.join(dict.fromkeys(missing))}. Correct the version; "
            "'penstock jars' lists what may be set.",
        )
    return ConfigError(
        "JARS_FETCH", f"The jars '{name}' cannot be fetched. Ivy said last:\n" + "\n".join(lines[-_LAST_LINES:])
    )
