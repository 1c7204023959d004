"""A case: what a folder of cases says of one job, and where it stands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OWN_CASES = Path(__file__).parent / "cases"


class NotRunnableError(Exception):
    """The runner does not know how to run a case; the reason says what it lacks."""


@dataclass(frozen=True)
class Case:
    """One case of a file; the file's name is its area."""

    area: str
    told: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.area}/{self.told['name']}"

    @property
    def kind(self) -> str:
        return str(self.told["kind"])

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.told.get("params") or {})

    @property
    def input(self) -> list[dict[str, Any]]:
        return list(self.told["input"])

    @property
    def expected(self) -> list[Any]:
        return list(self.told["expected"])

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What is expected, as entries: elements may stand by themselves, and the last watermark as `raw`."""
        return [_entry(told) for told in self.expected]

    @property
    def side_outputs(self) -> dict[str, list[Any]]:
        """What is expected of each side output, by tag; a list without a tag is of late elements."""
        told = self.told.get("expected_side_output") or {}
        return {"late": told} if isinstance(told, list) else dict(told)

    @property
    def order(self) -> str:
        return str(self.told.get("order") or "exact")

    @property
    def engines(self) -> list[str] | None:
        """The engines that the case asks for; None: all."""
        return self.told.get("engines")


def _entry(told: Any) -> dict[str, Any]:
    if not isinstance(told, dict):
        return {"value": told}
    return {("watermark" if key == "raw" else key): value for key, value in told.items()}


def cases_in(folder: Path) -> list[Case]:
    """All cases of a folder, file by file."""
    files = sorted(folder.glob("*.json"))
    return [Case(file.stem, told) for file in files for told in json.loads(file.read_text(encoding="utf-8"))]
