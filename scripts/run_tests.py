"""Runs the tests in two processes side by side: those that start Spark, and all others.

Spark's tests wait more than they compute, so the others fit beside them. Arguments are passed on to pytest. What the second
process prints is shown when the first one is done; the exit code says whether both passed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

NOTHING_CHOSEN = 5  # pytest's exit code: fine, when the other process has found something


def main(arguments: list[str]) -> int:
    command = [sys.executable, "-m", "pytest", *arguments, "-m"]
    with tempfile.TemporaryFile("w+") as kept:
        # With less of a busy machine: among Spark's tests are those that wait for something to happen in time.
        others = [*command, "not long and not spark"]
        beside = subprocess.Popen(others, stdout=kept, stderr=subprocess.STDOUT, preexec_fn=lambda: os.nice(10))
        try:
            codes = [subprocess.run([*command, "not long and spark"], check=False).returncode]
            codes.append(beside.wait())
        finally:
            if beside.poll() is None:
                beside.terminate()
                beside.wait()
        kept.seek(0)
        sys.stdout.writelines(kept)
    if all(code == NOTHING_CHOSEN for code in codes):
        return NOTHING_CHOSEN
    return max((code for code in codes if code != NOTHING_CHOSEN), default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
