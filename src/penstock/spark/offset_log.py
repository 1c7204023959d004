"""What Spark's logs of a checkpoint say: which batch was committed last, and how far each source was read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def last_commit(checkpoint: str) -> int:
    """The last committed batch of a job's checkpoint; -1: there is none."""
    try:
        names = os.listdir(os.path.join(checkpoint, "spark", "commits"))
    except OSError:
        return -1
    return max((int(name) for name in names if name.isdecimal()), default=-1)


def offsets_of(checkpoint: str, batch: int) -> list[Any]:
    """What a batch read up to: the control source's word, then each source's offset; None: not read yet."""
    lines = Path(checkpoint, "spark", "offsets", str(batch)).read_text(encoding="utf-8").splitlines()[2:]
    return [None if line in ("-", "") else json.loads(line) for line in lines]
