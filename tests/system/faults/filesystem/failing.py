"""A Hadoop file system that fails on command. The tests compile it with the Java compiler that is part of Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pyspark

CLASS = "penstock.faults.FailingFileSystem"
_SOURCE = Path(__file__).parent / "FailingFileSystem.java"
_COMPILER = "org.codehaus.commons.compiler.samples.CompilerDemo"  # Janino, which needs only a Java runtime


def compile_file_system(folder: Path) -> Path:
    """Compiles the class. Returns the folder for the class path."""
    jars = str(Path(pyspark.__file__).parent / "jars" / "*")
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java"
    assert shutil.which(java), "Java is needed"
    classes = folder / "classes"
    classes.mkdir(parents=True, exist_ok=True)
    command = [java, "-cp", jars, _COMPILER, "-classpath", _expand_jars(jars), "-d", str(classes), str(_SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert list(classes.rglob("*.class")), done.stdout + done.stderr
    return classes


def _expand_jars(pattern: str) -> str:
    """Expands the pattern, because Janino does not support patterns in class paths."""
    return os.pathsep.join(str(jar) for jar in Path(pattern).parent.glob("*.jar"))


class FailingStore:
    """Makes operations below a folder fail, hang or become slow, until `heal` is called."""

    def __init__(self, root: Path, under: Path) -> None:
        self._commands = root / "faults"
        self._under = under
        self._classes = compile_file_system(root)

    @property
    def settings(self) -> dict[str, str]:
        """Options that make Spark use this file system."""
        return {
            "spark.driver.extraClassPath": str(self._classes),
            "spark.hadoop.fs.file.impl": CLASS,
            "spark.hadoop.fs.failing.commands": str(self._commands),
        }

    def command(self, **commands: object) -> None:
        """Sets the faults, such as write="No space left on device", delay=200, hang=True, only=".*/commits/.*"."""
        lines = [f"{name}={str(value).lower() if value is True else value}" for name, value in commands.items()]
        temporary = self._commands.with_name(".faults")
        temporary.write_text("\n".join([f"under={self._under}", *lines]))
        os.replace(temporary, self._commands)

    def heal(self) -> None:
        with suppress(FileNotFoundError):
            self._commands.unlink()
