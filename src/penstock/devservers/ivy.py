"""Downloads jars with the Ivy jar that is part of Spark. Neither Maven nor a Spark session is needed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from penstock.devservers.java import check_java, java_command
from penstock.errors import ConfigError

SETTINGS_VARIABLE = "PENSTOCK_IVY_SETTINGS"
_UNREACHABLE = ("UnknownHostException", "ConnectException", "NoRouteToHost", "SocketTimeout", "timed out", "refused")
_LAST_LINES = 12


def fetch(name: str, artifacts: Sequence[str], transitive: bool, folder: Path, on_file: Callable[[str], None]) -> None:
    """Downloads artifacts into a folder; with `transitive`, also their dependencies. `on_file` is called for each file."""
    check_java()
    with tempfile.TemporaryDirectory(prefix="penstock-ivy-") as scratch:
        ivy_file = Path(scratch, "ivy.xml")
        ivy_file.write_text(_ivy_file(name, artifacts, transitive))
        command = [
            java_command(),
            "-Xmx256m",
            "-jar",
            str(_ivy_jar()),
            "-cache",
            f"{scratch}/cache",
            "-ivy",
            str(ivy_file),
        ]
        command += ["-confs", "default", "-retrieve", f"{folder}/[artifact]-[revision](-[classifier]).[ext]"]
        if settings := os.environ.get(SETTINGS_VARIABLE):
            command += ["-settings", settings]
        code, lines = _run(command, on_file)
    if code != 0:
        raise _failure(name, artifacts, lines)


def _ivy_file(name: str, artifacts: Sequence[str], transitive: bool) -> str:
    """The Ivy file that lists the artifacts as dependencies."""
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


def _run(command: list[str], on_file: Callable[[str], None]) -> tuple[int, list[str]]:
    lines: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as ivy:
        assert ivy.stdout is not None
        for line in ivy.stdout:
            lines.append(line.rstrip())
            if line.startswith("downloading ") and ".jar" in line:
                on_file(line.split()[1].rsplit("/", 1)[-1])
    return ivy.returncode, lines


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    home = os.environ.get("SPARK_HOME") or ((spec.submodule_search_locations or [""])[0] if spec else "")
    found = sorted(Path(home or "/nowhere", "jars").glob("ivy-*.jar"))
    if not found:
        raise ConfigError(
            "NO_IVY",
            f"The Spark jars in {home}/jars do not contain Ivy. Reinstall Spark: pip install --force-reinstall pyspark",
        )
    return found[-1]


def _failure(name: str, artifacts: Sequence[str], lines: list[str]) -> ConfigError:
    text = "\n".join(lines)
    missing = [line.strip(": \t") for line in lines if line.rstrip().endswith(": not found")]
    if any(word in text for word in _UNREACHABLE):
        return ConfigError(
            "JARS_NO_NETWORK",
            f"The jars '{name}' ({', '.join(artifacts)}) are not in the cache, and the Maven repository cannot be "
            f"reached. Run 'penstock jars {name}' once with a network, or copy the cache from a machine that has it. "
            f"{SETTINGS_VARIABLE} can name an Ivy settings file with another repository.",
        )
    if missing:
        return ConfigError(
            "JARS_NOT_FOUND",
            f"The jars '{name}' were not found: {'; '.join(dict.fromkeys(missing))}. Correct the version. "
            "'penstock jars' lists the versions that can be set.",
        )
    return ConfigError(
        "JARS_FETCH",
        f"The jars '{name}' cannot be downloaded. The last output of Ivy:\n" + "\n".join(lines[-_LAST_LINES:]),
    )
