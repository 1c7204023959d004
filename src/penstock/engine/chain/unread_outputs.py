"""Warns about elements of side outputs that no stream reads."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from penstock.functions import DEAD_LETTERS

_log = logging.getLogger("penstock.operator")


class UnreadOutputs:
    """Logs a warning for the first element of each side output that is dropped, because nobody reads it.

    Dead letters are reported separately.
    """

    def __init__(self) -> None:
        self._warned: set[tuple[str, str]] = set()

    def warn(self, operator: str, tags: Iterable[str]) -> None:
        for tag in tags:
            if tag != DEAD_LETTERS.tag_id and (operator, tag) not in self._warned:
                self._warned.add((operator, tag))
                _log.warning(
                    "Operator '%s' emits elements to the side output '%s', which no stream reads. They are dropped. Call "
                    "get_side_output(OutputTag('%s')) on its stream to read them.",
                    *(operator, tag, tag),
                )
