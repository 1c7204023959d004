"""Turns the elements of a source into columns, and columns into the elements of a sink."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult

# Records that are decoded together. Decoders read the records once per column, so they should fit into the cache of a core.
_PART = 8192


class DecodeStep:
    """Decodes the elements of a source (formats/columns/interface.py: Decoder). With `skip`, bad records are dropped."""

    def __init__(self, decoder: Any, skip: bool = False) -> None:
        self.decoder = decoder
        self._skip = skip

    def open(self) -> None:
        """Has nothing to compile: decoders prepare themselves when they are first used."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        if not isinstance(rows, list) or len(rows) <= 2 * _PART:
            decoded = self.decoder.decode(rows)
            return StepResult(decoded.changes, decoded.origins, [] if self._skip else decoded.bad)
        starts = range(0, len(rows), _PART)
        parts = [self.decoder.decode(rows[start : start + _PART]) for start in starts]
        origins = None
        if any(part.origins is not None for part in parts):
            origins = np.concatenate(
                [
                    start + (np.arange(part.changes.length) if part.origins is None else part.origins)
                    for start, part in zip(starts, parts, strict=True)
                ]
            )
        bad = [(start + at, e) for start, part in zip(starts, parts, strict=True) for at, e in part.bad]
        return StepResult(Changes.concatenate([part.changes for part in parts]), origins, [] if self._skip else bad)


class EncodeStep:
    """Encodes changes for a sink (formats/columns/interface.py: Encoder)."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        elements, origins = self.encoder.encode(rows)
        return StepResult(elements, origins)
