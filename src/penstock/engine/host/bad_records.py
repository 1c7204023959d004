"""What becomes of a source's records that do not decode: an error, dead letters, or a number."""

from __future__ import annotations

from typing import NoReturn

from penstock.connectors.source import Chunk
from penstock.errors import UserFunctionError
from penstock.formats.bad_record import BadRecord
from penstock.functions import DeadLetter
from penstock.runtime.call_site import CallSite


class BadRecords:
    """Those of one source in one worker."""

    def __init__(self, name: str, uid: str, on_error: str, read: bool, site: CallSite) -> None:
        self._name = name
        self._uid = uid
        self._on_error = on_error
        self._read = read  # somebody reads the dead letters
        self._site = site
        self._made = 0
        self._skipped = 0

    def take(self, chunk: Chunk, batch: int | None) -> list[DeadLetter]:
        """Takes in what a chunk has of them; gives the dead letters that somebody reads."""
        self._skipped += chunk.skipped
        if not chunk.bad:
            return []
        if self._on_error == "skip":
            self._skipped += len(chunk.bad)
            return []
        if self._on_error != "dead_letter":
            self._fail(chunk.bad[0], batch)
        self._made += len(chunk.bad)
        return [self._letter(bad, chunk.split) for bad in chunk.bad] if self._read else []

    def _fail(self, bad: BadRecord, batch: int | None) -> NoReturn:
        error = UserFunctionError(
            "BAD_RECORD",
            f"The record of {bad.told()}. Nothing of the batch was committed: mend the record and resume, or give "
            'from_source on_error="dead_letter" to put such records aside, or on_error="skip" to drop and count them.',
        )
        raise self._site.error(error, batch=batch) from bad.error

    def _letter(self, bad: BadRecord, split: str) -> DeadLetter:
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

    def count(self) -> tuple[dict[str, tuple[int, int]], int]:
        """Since last asked: dead letters made and not read, by operator; and how many records were skipped."""
        made, skipped = self._made, self._skipped
        self._made = self._skipped = 0
        return ({self._uid: (made, 0 if self._read else made)} if made else {}), skipped
