"""Relations as plain data for JSON, and back. Only known kinds are read, so that a file cannot create other objects."""

from __future__ import annotations

import base64
import decimal
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.errors import PlanError
from penstock.runtime.relational.python_functions.function import AsyncLimits, PythonFunction
from penstock.table.plans.kinds import KINDS
from penstock.table.relations import Relation

# The keys "is" (the kind) and "as" (the number of a relation that is stored once) are words of Python, so no field has their name.
# Functions are stored by name, without their code.
_FUNCTIONS: dict[str, type[msgspec.Struct]] = {"PythonFunction": PythonFunction, "AsyncLimits": AsyncLimits}
_NAMES = {cls: name for name, cls in KINDS.items()}


class PlanEncoder:
    """Encodes the relations of one plan. A relation that several others read is stored once."""

    def __init__(self, *roots: Relation) -> None:
        self._readers: Counter[int] = Counter()
        for root in roots:
            self._count(root)
        self._numbers: dict[int, int] = {}

    def _count(self, relation: Relation) -> None:
        self._readers[id(relation)] += 1
        if self._readers[id(relation)] == 1:
            for one in relation.inputs():
                self._count(one)

    def encode(self, value: Any) -> Any:
        """Returns plain data. Raises PlanError for objects of the program, such as streams and functions without a name."""
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"is": "float", "text": str(value)}
        if isinstance(value, decimal.Decimal):
            return {"is": "decimal", "text": str(value)}
        if isinstance(value, bytes):
            return {"is": "bytes", "base64": base64.b64encode(value).decode()}
        if isinstance(value, tuple):
            return [self.encode(one) for one in value]
        if isinstance(value, list):
            return {"is": "list", "items": [self.encode(one) for one in value]}
        if isinstance(value, dict):
            return {"is": "map", "entries": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        name = _NAMES.get(type(value))
        if isinstance(value, PythonFunction) and value.path:
            name, value = "PythonFunction", msgspec.structs.replace(value, payload=b"")
        if isinstance(value, AsyncLimits):
            name = "AsyncLimits"
        if name is None:
            raise PlanError(
                "SQL_PLAN_OBJECT",
                f"The plan contains an object of the program ({type(value).__name__}), which cannot be written to a file. "
                "Plans can read tables of catalogs, and call functions that are registered by name.",
            )
        return self._struct(name, value)

    def _struct(self, name: str, value: Any) -> dict[str, Any]:
        shared = isinstance(value, Relation) and self._readers[id(value)] > 1
        if shared and id(value) in self._numbers:
            return {"is": "same", "as": self._numbers[id(value)]}
        found: dict[str, Any] = {"is": name}
        if shared:
            found["as"] = self._numbers[id(value)] = len(self._numbers) + 1
        for field in msgspec.structs.fields(type(value)):
            own = getattr(value, field.name)
            if field.required or own != field.default:
                found[field.name] = self.encode(own)
        return found


class PlanDecoder:
    """Decodes the relations of one plan. `functions` returns the pickled function of a name."""

    def __init__(self, functions: Callable[[tuple[str, ...]], bytes] | None = None) -> None:
        self._shared: dict[int, Any] = {}
        self._functions = functions

    def decode(self, data: Any) -> Any:
        """Returns the object of plain data. Raises PlanError for a kind or a field that this version does not know."""
        if isinstance(data, list):
            return tuple(self.decode(one) for one in data)
        if not isinstance(data, dict):
            return data
        match data.get("is"):
            case "float":
                return float(data["text"])
            case "decimal":
                return decimal.Decimal(data["text"])
            case "bytes":
                return base64.b64decode(data["base64"])
            case "list":
                return [self.decode(one) for one in data["items"]]
            case "map":
                return {self.decode(k): self.decode(v) for k, v in data["entries"]}
            case "same":
                return self._shared[data["as"]]
            case kind:
                return self._struct(str(kind), data)

    def _struct(self, kind: str, data: dict[str, Any]) -> Any:
        cls = KINDS.get(kind) or _FUNCTIONS.get(kind)
        if cls is None:
            raise PlanError(
                "SQL_PLAN_KIND",
                f"The plan contains '{kind}', which this version of Penstock does not know. Run the plan with the version that "
                "wrote it, or a newer one, or compile the statement again.",
            )
        known = {field.name for field in msgspec.structs.fields(cls)}
        values = {name: self.decode(value) for name, value in data.items() if name not in ("is", "as")}
        unknown = sorted(set(values) - known)
        if unknown:
            raise PlanError(
                "SQL_PLAN_KIND",
                f"The plan contains '{kind}' with {', '.join(unknown)}, which this version of Penstock does not know. Run the plan "
                "with the version that wrote it, or a newer one.",
            )
        if cls is PythonFunction:
            values["payload"] = b"" if self._functions is None else self._functions(values["path"])
        found = cls(**values)
        if "as" in data and isinstance(found, Relation):
            self._shared[data["as"]] = found
        return found
