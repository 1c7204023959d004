"""A job for a real cluster: needs a module beside it, an added file, a package and an archive on the executors.

Run as: python cluster_job.py MASTER OUT ROOT
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cluster_words  # type: ignore[import-not-found]  # beside this file: shipped without being asked for
import msgspec

import penstock as ps
from penstock.connectors import JsonLinesSink

DRIVER_FILES = tempfile.gettempdir()


class Word(msgspec.Struct):
    """Elements of a class of the main module."""

    text: str
    length: int


class Count(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", ps.Types.LONG()))
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def process_element(self, value: Word, ctx: Any) -> Iterator[Any]:
        import cluster_added  # type: ignore[import-not-found]  # only on executors
        import shipped_package  # type: ignore[import-not-found]  # from the requirements
        from pyspark import SparkFiles

        self.seen.inc()
        logging.getLogger("words").info("saw %s, %s", value.text, driver_files())
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        archived = Path(SparkFiles.get("facts"), "facts.txt").read_text()
        yield {
            "word": value.text,
            "count": count,
            "subtask": self.subtask,
            "added": cluster_added.NAME,
            "package": shipped_package.NAME,
            "archive": archived,
            "process": os.getpid(),
        }


def driver_files() -> str:
    """Whether the folder that the driver's temporary files are in can be seen from here."""
    return "beside the driver" if any(Path(DRIVER_FILES).iterdir()) else "without the driver's files"


def package(root: Path) -> Path:
    """A requirements file that names a wheel of our own: pip needs neither a network nor a build."""
    files = {
        "shipped_package/__init__.py": 'NAME = "from the requirements"\n',
        "shipped_package-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: shipped-package\nVersion: 1.0\n",
        "shipped_package-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files["shipped_package-1.0.dist-info/RECORD"] = "".join(f"{name},,\n" for name in files)
    wheel = root / "shipped_package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    requirements = root / "requirements.txt"
    requirements.write_text(f"{wheel}\n")
    return requirements


def main() -> None:
    master, out, root = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    root.mkdir(parents=True, exist_ok=True)
    added = root / "cluster_added.py"
    added.write_text('NAME = "added"\n')
    with zipfile.ZipFile(root / "facts.zip", "w") as archive:
        archive.writestr("facts.txt", "archived")
    settings = {
        "spark.master": master,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "600m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "execution.checkpointing.dir": str(root / "checkpoints"),
        "state.local.dir": str(root / "local"),
    }
    env = ps.StreamExecutionEnvironment(ps.Configuration(settings))
    env.set_parallelism(2)
    env.add_python_file(str(added))
    env.add_python_archive(str(root / "facts.zip"), "facts")
    env.set_python_requirements(str(package(root)))
    words = env.from_collection(cluster_words.WORDS * 3).map(lambda w: Word(w, len(w)))
    words.key_by(lambda w: w.text).process(Count()).name("count words").sink_to(JsonLinesSink(out))
    logging.basicConfig(level=logging.WARNING, format="LOGGED %(name)s %(message)s")
    logging.getLogger("words").setLevel(logging.INFO)
    result = env.execute("cluster")
    print("SEEN", result.metrics.get("count words", "seen"), flush=True)


if __name__ == "__main__":
    main()
