"""A file system of Hadoop's that fails on command, compiled where the tests run by the compiler that comes with Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pyspark

CLASS = "penstock.faults.FailingFileSystem"
_SOURCE = Path(__file__).parent / "FailingFileSystem.java"
_COMPILER = "org.codehaus.commons.compiler.samples.CompilerDemo"  # Janino's: a Java runtime is enough


def compiled(folder: Path) -> Path:
    """The folder with the class, for a class path."""
    jars = str(Path(pyspark.__file__).parent / "jars" / "*")
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    assert shutil.which(java), "Java is needed"
    classes = folder / "classes"
    classes.mkdir(parents=True, exist_ok=True)
    command = [java, "-cp", jars, _COMPILER, "-classpath", _jars_of(jars), "-d", str(classes), str(_SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert list(classes.rglob("*.class")), done.stdout + done.stderr
    return classes


def _jars_of(pattern: str) -> str:
    """Janino takes no patterns."""
    return os.pathsep.join(str(jar) for jar in Path(pattern).parent.glob("*.jar"))


class FailingStore:
    """Commands for the file system: what is under a folder fails, hangs or is slow until it is healed."""

    def __init__(self, root: Path, under: Path) -> None:
        self._commands = root / "faults"
        self._under = under
        self._classes = compiled(root)

    @property
    def settings(self) -> dict[str, str]:
        """Options of a job whose own Spark is to use it."""
        return {
            "spark.driver.extraClassPath": str(self._classes),
            "spark.hadoop.fs.file.impl": CLASS,
            "spark.hadoop.fs.failing.commands": str(self._commands),
        }

    def command(self, **commands: object) -> None:
        """Such as write="No space left on device", delay=200, hang=True, only=".*/commits/.*"."""
        lines = [f"{name}={str(value).lower() if value is True else value}" for name, value in commands.items()]
        temporary = self._commands.with_name(".faults")
        temporary.write_text("\n".join([f"under={self._under}", *lines]))
        os.replace(temporary, self._commands)

    def heal(self) -> None:
        with suppress(FileNotFoundError):
            self._commands.unlink()
