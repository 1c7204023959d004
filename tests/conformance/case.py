"""Conformance cases, as JSON files describe them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OWN_CASES = Path(__file__).parent / "cases"


class NotRunnableError(Exception):
    """Raised for a case that the runner cannot run. The message is the reason."""


@dataclass(frozen=True)
class Case:
    """One case of a file. `area` is the name of the file."""

    area: str
    fields: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.area}/{self.fields['name']}"

    @property
    def kind(self) -> str:
        return str(self.fields["kind"])

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.fields.get("params") or {})

    @property
    def input(self) -> list[dict[str, Any]]:
        return list(self.fields["input"])

    @property
    def expected(self) -> list[Any]:
        return list(self.fields["expected"])

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The expected output as entries. In a file, an element may be a plain value and the last watermark may be `raw`."""
        return [_entry(expected) for expected in self.expected]

    @property
    def side_outputs(self) -> dict[str, list[dict[str, Any]]]:
        """The expected entries of each side output, by tag.

        In a file, a list without a tag contains late elements. Elements may be plain values. `null` leaves an output unchecked.
        """
        sides = self.fields.get("expected_side_output") or {}
        by_tag = {"late": sides} if isinstance(sides, list) else sides
        return {tag: [_entry(e) for e in expected] for tag, expected in by_tag.items() if expected is not None}

    @property
    def order(self) -> str:
        return str(self.fields.get("order") or "exact")

    @property
    def engines(self) -> list[str] | None:
        """The engines that run the case. None means all."""
        return self.fields.get("engines")


def _entry(expected: Any) -> dict[str, Any]:
    if not isinstance(expected, dict) or not {"value", "watermark", "raw"} & set(expected):
        return {"value": expected}
    return {("watermark" if key == "raw" else key): value for key, value in expected.items()}


def cases_in(folder: Path) -> list[Case]:
    """Returns all cases of a folder, file by file."""
    files = sorted(folder.glob("*.json"))
    return [Case(file.stem, fields) for file in files for fields in json.loads(file.read_text(encoding="utf-8"))]
