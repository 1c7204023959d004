"""Runs PyFlink's own tests on Penstock: `python -m tests.pyflink_suite.run FLINK_GIT [--work FOLDER] [pytest arguments]`."""

from __future__ import annotations

import argparse
import inspect
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import penstock
from tests.pyflink_suite.report import print_report

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
PACKAGE = "flink-python/"
TEST_FILES = re.compile(
    r"flink-python/pyflink/((datastream|common|datastream/formats|table)/tests/test_[a-z_]*"
    r"|datastream/connectors/tests/test_(file_system|seq_source|kafka))\.py"
)
REPLACED = f"{PACKAGE}pyflink/datastream/tests/test_util.py"  # by shim/collecting_sink.py


def export_tests(git_dir: str, folder: Path) -> None:
    """Writes the test files of the newest commit of a clone of apache/flink to a folder."""
    listed = _git(git_dir, "ls-tree", "-r", "--name-only", "HEAD", f"{PACKAGE}pyflink").decode().split("\n")
    for path in listed:
        if TEST_FILES.fullmatch(path) and path != REPLACED:
            target = folder / path.removeprefix(PACKAGE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_git(git_dir, "show", f"HEAD:{path}"))


def _git(git_dir: str, *arguments: str) -> bytes:
    return subprocess.run(["git", f"--git-dir={git_dir}", *arguments], check=True, capture_output=True).stdout


def run_tests(folder: Path, results: Path, arguments: list[str]) -> None:
    """Runs the exported tests in their own process, with a temporary folder that is removed afterwards."""
    source = str(Path(inspect.getfile(penstock)).resolve().parents[1])
    own = Path(tempfile.mkdtemp(prefix="pyflink-tests-"))
    (own / "sinks").mkdir()
    path = [source, str(REPOSITORY), str(HERE / "shim" / "avro_package"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "TMPDIR": str(own),
        "PENSTOCK_HOME": str(own / "home"),
        "PYFLINK_SUITE_SINKS": str(own / "sinks"),
        "PYFLINK_SUITE_TESTS": str(folder),
        "PYFLINK_SUITE_RESULTS": str(results),
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "HADOOP_CLASSPATH": "none",  # Parquet and ORC need no Hadoop here, so their tests run
    }
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder), "-p", "no:cacheprovider"]
    command += [
        "-p",
        "no:randomly",
        "-p",
        "tests.pyflink_suite.plugin",
        "-q",
        "--tb=short",
        "--continue-on-collection-errors",
        *(arguments or ["pyflink"]),
    ]
    log = results.with_name("pytest.log")
    try:
        with log.open("wb") as output:
            subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=output, check=False)
    finally:
        shutil.rmtree(own, ignore_errors=True)
    print(f"Output of pytest: {log}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flink_git", help="the git directory of a clone of apache/flink")
    parser.add_argument(
        "--work", type=Path, default=REPOSITORY / "build" / "pyflink-tests", help="folder of the exported tests"
    )
    arguments, pytest_arguments = parser.parse_known_args()
    work: Path = arguments.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    export_tests(os.path.abspath(arguments.flink_git), work / "tests")
    results = work / "results.json"
    run_tests(work / "tests", results, pytest_arguments)
    print_report(results, HERE / "not_applicable.json")


if __name__ == "__main__":
    main()
