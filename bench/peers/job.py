"""Arguments and report of the scripts of all contenders. Uses only the standard library, because all environments import it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable
from typing import Any

COUNTS = "counts"


def arguments() -> argparse.Namespace:
    """Parses the command line: the job and its input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=("Y", "P"))
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--events", type=int, required=True, help="number of events in the topic")
    parser.add_argument("--scratch", required=True, help="a temporary folder of this run")
    parser.add_argument("--redis", default="", help="host:port")
    parser.add_argument("--time-box", type=float, default=60, help="seconds after which a slow contender stops")
    parser.add_argument("--jars", default="", help="jars of the JVM, separated by commas")
    parser.add_argument("--mode", default="", help="the variant of the contender, if it has several")
    return parser.parse_args()


class Run:
    """Measures one run of a contender from the start of its job, without the start of its interpreter or cluster."""

    def __init__(self) -> None:
        self._began = time.time()

    def seconds(self) -> float:
        return time.time() - self._began

    def end(
        self,
        events: int,
        *,
        seconds: float | None = None,
        counts: Iterable[tuple[str, int, int]] | None = None,
        emitted: int | None = None,
        **details: Any,
    ) -> None:
        """Prints the report as the last line and exits. `counts` are the results of job Y: campaign, window, count."""
        line: dict[str, Any] = {"events": events, "seconds": self.seconds() if seconds is None else seconds, **details}
        if counts is not None:
            line[COUNTS] = list(counts)
        if emitted is not None:
            line["emitted"] = emitted
        sys.stdout.flush()
        print(json.dumps(line), flush=True)
        os._exit(0)  # some systems do not exit by themselves
