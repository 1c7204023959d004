"""The window table functions TUMBLE, HOP and CUMULATE."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult
from penstock.runtime.relational.specs.window import Window
from penstock.runtime.relational.windows.assign import assign_windows


class AssignWindowsStep:
    """Appends window_start, window_end and window_time to rows, each row once per window."""

    def __init__(self, window: Window, time_is_instant: bool) -> None:
        self.window = window
        self._time_is_instant = time_is_instant

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        width = len(rows.columns)
        numbered = Changes([*rows.columns, pa.array(np.arange(rows.length))], rows.length, rows.kinds)
        assigned = assign_windows(numbered, self.window, context.now(), self._time_is_instant)
        origins = assigned.columns[width].to_numpy()
        columns = [c for i, c in enumerate(assigned.columns) if i != width]
        return StepResult(Changes(columns, assigned.length, assigned.kinds), origins)
