"""The interfaces of decoders and encoders of tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.runtime.relational.changes import Changes


@dataclass(slots=True)
class Decoded:
    """The rows of some records.

    origins: for each row the position of the record that it came from, ascending. A record has several rows in Debezium's
    format, and none if it was skipped. None means that row i came from record i.
    bad: positions of records that cannot be decoded, with the reason. The caller fails, skips them or makes dead letters.
    """

    changes: Changes
    origins: NDArray[np.int64] | None = None
    bad: list[tuple[int, Exception]] = field(default_factory=list)


class Decoder(Protocol):
    """Turns the elements of a source into columns. It is picklable, and its columns are fixed when it is created."""

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes the elements of one chunk of a source."""
        ...


class Encoder(Protocol):
    """Turns changes into the elements that a sink writes. It is picklable."""

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns the elements, and for each the position of its row; None if element i is row i."""
        ...
