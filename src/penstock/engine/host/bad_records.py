"""Records of a source that do not decode. They fail the batch, become dead letters or are skipped."""

from __future__ import annotations

from typing import NoReturn

from penstock.connectors.source import Chunk
from penstock.errors import UserFunctionError
from penstock.formats.bad_record import BadRecord
from penstock.functions import DeadLetter
from penstock.runtime.loop.call_site import CallSite


class BadRecords:
    """Handles the bad records of one source in one worker."""

    def __init__(self, name: str, uid: str, on_error: str, has_reader: bool, site: CallSite) -> None:
        self._name = name
        self._uid = uid
        self._on_error = on_error
        self._has_reader = has_reader  # a step reads the dead letters
        self._site = site
        self._dead_letters = 0
        self._skipped = 0

    def handle(self, chunk: Chunk, batch: int | None) -> list[DeadLetter]:
        """Counts the bad records of a chunk. Returns their dead letters if a step reads them."""
        self._skipped += chunk.skipped
        if not chunk.bad:
            return []
        if self._on_error == "skip":
            self._skipped += len(chunk.bad)
            return []
        if self._on_error != "dead_letter":
            self._fail(chunk.bad[0], batch)
        self._dead_letters += len(chunk.bad)
        return [self._dead_letter(bad, chunk.split) for bad in chunk.bad] if self._has_reader else []

    def _fail(self, bad: BadRecord, batch: int | None) -> NoReturn:
        error = UserFunctionError(
            "BAD_RECORD",
            f"The record of {bad.describe()}. The batch was not committed. Correct the record and resume, or call from_source "
            'with on_error="dead_letter" to get such records as dead letters, or with on_error="skip" to drop and count them.',
        )
        raise self._site.error(error, batch=batch) from bad.error

    def _dead_letter(self, bad: BadRecord, split: str) -> DeadLetter:
        return DeadLetter(
            operator=self._name,
            uid=self._uid,
            element=bad.raw,
            error=type(bad.error).__name__,
            message=str(bad.error),
            timestamp=bad.facts.get("timestamp"),
            source=self._name,
            split=split,
            position=bad.position,
            facts=bad.facts,
        )

    def take_counts(self) -> tuple[dict[str, tuple[int, int]], int]:
        """Returns the counts since the last call: dead letters produced and unread by uid, and skipped records."""
        produced, skipped = self._dead_letters, self._skipped
        self._dead_letters = self._skipped = 0
        return ({self._uid: (produced, 0 if self._has_reader else produced)} if produced else {}), skipped
