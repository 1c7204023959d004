"""The kinds of changes as values of a column: TO_CHANGELOG and FROM_CHANGELOG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import ElementError
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult


class ToCodes:
    """Puts a column with the code of each change in front. Changes without a code are dropped. All rows are insertions then."""

    def __init__(self, codes: Sequence[str | None]) -> None:
        self._codes = list(codes)

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        codes = pa.array(self._codes, pa.string()).take(pa.array(rows.all_kinds()))
        found = Changes([codes, *rows.columns], len(rows))
        if not codes.null_count:
            return StepResult(found)
        origins = np.flatnonzero(codes.is_valid().to_numpy(zero_copy_only=False))
        return StepResult(found.take(origins), origins)


class FromCodes:
    """Takes the kinds of changes from a column, and removes it."""

    def __init__(self, column: int, codes: Sequence[tuple[str, int]], name: str) -> None:
        self._column = column
        self._texts = [text for text, _ in codes]
        self._kinds = np.array([kind for _, kind in codes], np.int8)
        self._name = name

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        codes = rows.columns[self._column]
        places = pc.index_in(codes, pa.array(self._texts, pa.string()))
        if places.null_count:
            wrong = codes.filter(places.is_null())[0].as_py()
            raise ElementError(
                "CHANGELOG_CODE",
                f"Column '{self._name}' has {wrong!r}, which is no kind of change. Known are {', '.join(self._texts)}. Add it "
                "to op_mapping, or remove such rows before FROM_CHANGELOG.",
            )
        kinds = self._kinds[places.to_numpy(zero_copy_only=False)]
        columns = [c for i, c in enumerate(rows.columns) if i != self._column]
        return StepResult(Changes(columns, len(rows), kinds if kinds.any() else None))
