"""The loop of a worker process: reads orders as lines of JSON and answers each with a line of JSON.

Uses only the standard library, because the environments of both systems import it. A worker runs all queries of a system, one after
the other, so the start of interpreters and JVMs is not part of a result.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any


def serve(run: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Runs orders until the input ends. Everything else that the process prints goes to its log."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        began = time.time()
        try:
            answer = run(json.loads(line))
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"[:3000]}
        answer.setdefault("seconds", time.time() - began)
        print(json.dumps(answer, default=str), file=answers, flush=True)
    os._exit(0)  # both systems leave threads


def final_rows(changes: Any) -> list[list[Any]]:
    """Applies changes, each a kind such as '+I' and values, and returns the rows of the final table as text."""
    rows: dict[tuple[str, ...], int] = {}
    for kind, values in changes:
        key = tuple(str(value) for value in values)
        rows[key] = rows.get(key, 0) + (1 if kind in ("+I", "+U") else -1)
    return [list(row) for row, times in rows.items() for _ in range(times)]
