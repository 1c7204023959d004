"""Windows of the window table functions and of legacy group windows."""

from __future__ import annotations

from typing import Literal

import msgspec


class Window(msgspec.Struct, frozen=True):
    """A window, with all times in milliseconds.

    kind: TUMBLE has a size; HOP a size and a slide; CUMULATE a size (the maximum) and a slide (the step); SESSION a size (the gap).
    time_column: position of the time attribute in the input; for windows that are given as columns, unused (-1).
    event_time: whether the time attribute is a rowtime.
    zone: the session time zone, if the time attribute is TIMESTAMP_LTZ: windows of local time start at local midnight. Else "".
    partition: positions of the columns of PARTITION BY of a SESSION table function.
    """

    kind: Literal["TUMBLE", "HOP", "CUMULATE", "SESSION"]
    size: int
    slide: int = 0
    offset: int = 0
    time_column: int = -1
    event_time: bool = True
    zone: str = ""
    partition: tuple[int, ...] = ()

    def __str__(self) -> str:
        sizes = {"HOP": f"{self.size} ms, slide {self.slide} ms", "CUMULATE": f"{self.size} ms, step {self.slide} ms"}
        return f"{self.kind}({sizes.get(self.kind, f'{self.size} ms')})"
