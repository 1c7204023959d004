"""Where a compiled plan is: a file or a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from penstock.errors import UnsupportedOperation
from penstock.table.environment.statements.plans import plan_path


class PlanReference:
    """A plan that `TableEnvironment.load_plan` and `execute_plan` read.

    >>> PlanReference.from_json_string("{}") == PlanReference.from_json_string("{}")
    True
    """

    def __init__(self, content: Any) -> None:
        self._content = content

    @staticmethod
    def from_file(path: str | Path) -> FilePlanReference:
        """Returns a reference to a file."""
        return FilePlanReference(plan_path(str(path)))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        """Returns a reference to a text."""
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> NoReturn:
        """Is not supported: Smile is a binary form of JSON for Java."""
        raise UnsupportedOperation(
            "SQL_PLAN_SMILE", "Plans are JSON texts. Use PlanReference.from_json_string or from_file."
        )

    def __str__(self) -> str:
        return f"{type(self).__name__}({self._content!s})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._content == getattr(other, "_content", None)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._content))


class FilePlanReference(PlanReference):
    """A plan in a file."""

    def get_file(self) -> Path:
        """Returns the path of the file."""
        return Path(self._content)


class JsonContentPlanReference(PlanReference):
    """A plan as a text."""

    def get_content(self) -> str:
        """Returns the JSON text."""
        return str(self._content)


class BytesContentPlanReference(PlanReference):
    """A plan in the binary form of Java, which is not read."""

    def get_content(self) -> bytes:
        """Returns the bytes."""
        return bytes(self._content)
