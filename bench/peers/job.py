"""What every contender's script is told, and what it says at its end. All environments import it: standard library only."""

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
    """The job, and where its input is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=("Y", "P"))
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--events", type=int, required=True, help="how many the topic holds")
    parser.add_argument("--scratch", required=True, help="a folder of this run")
    parser.add_argument("--redis", default="", help="host:port")
    parser.add_argument("--time-box", type=float, default=60, help="seconds after which a slow contender stops")
    parser.add_argument("--jars", default="", help="of a JVM, separated by commas")
    parser.add_argument("--mode", default="", help="a way of running, where a contender has several")
    return parser.parse_args()


class Run:
    """One run of a contender: begins when its job is started, not its interpreter or cluster."""

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
        **told: Any,
    ) -> None:
        """Says what was done, as the last line. `counts` are results of job Y: campaign, window, count."""
        line: dict[str, Any] = {"events": events, "seconds": self.seconds() if seconds is None else seconds, **told}
        if counts is not None:
            line[COUNTS] = list(counts)
        if emitted is not None:
            line["emitted"] = emitted
        sys.stdout.flush()
        print(json.dumps(line), flush=True)
        os._exit(0)  # some peers do not end by themselves
