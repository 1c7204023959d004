"""Runs the tests in random order, but files that take long first: those that start Spark, and beside them all others.

    run_tests.py [--seed N] [--fast] [pytest arguments]

The order of the tests follows from the seed, which is printed; `--seed` repeats an order. `--fast` runs only tests that need no JVM
and take less than about five seconds. Results are stored in build/test-results, where `make test-slowest` reads them. The exit code
is that of pytest.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "test-results"
sys.path.insert(0, str(ROOT))

from tests.cleanup import TestRun  # noqa: E402

NO_TESTS_COLLECTED = 5  # exit code of pytest


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--fast", action="store_true")
    options, pytest_arguments = parser.parse_known_args(arguments)
    common = [f"--randomly-seed={options.seed}", *pytest_arguments]
    print(f"Random order: repeat it with SEED={options.seed}", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # cleans up as after Ctrl-C
    run = TestRun()
    started = time.monotonic()
    try:
        if options.fast:
            code = _start("fast", "not jvm and not long and not slow", 2, common, None).wait()
        else:
            code = _run_both(common)
    except KeyboardInterrupt:
        code = 130
    finally:
        run.finish()
    print(f"Tests took {time.monotonic() - started:.0f} s")
    return code


def _run_both(common: list[str]) -> int:
    """Tests on Spark wait more than they compute, so the others run beside them with a slightly lower priority."""
    with tempfile.TemporaryFile("w+") as output:
        processes = [
            _start("other", "not long and not spark", 2, common, output, niceness=2),
            _start("spark", "not long and spark", 2, common, None),
        ]
        try:
            codes = [process.wait() for process in reversed(processes)]
        except KeyboardInterrupt:
            for process in processes:
                process.send_signal(signal.SIGINT)
                process.wait()
            raise
        output.seek(0)
        sys.stdout.writelines(output)
    failed = [code for code in codes if code not in (0, NO_TESTS_COLLECTED)]
    return max(failed) if failed else min(codes)


def _start(
    name: str, marks: str, workers: int, common: list[str], output: IO[str] | None, niceness: int = 0
) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pytest", f"--junitxml={RESULTS / name}.xml", "-m", marks]
    if workers > 1:
        # tests/slow_files.py decides which files start first, instead of their number of tests
        command += [f"--numprocesses={workers}", "--dist=loadfile", "--no-loadscope-reorder"]
    RESULTS.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [*command, *common], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, preexec_fn=lambda: os.nice(niceness)
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
