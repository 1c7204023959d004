"""Where the columns and rows of a node come from: texts in terms of columns of tables, without aliases and positions.

Ids of operators follow from them, so that a query finds its state again after its aliases, the order of its columns, or other
parts of it have changed.
"""

from __future__ import annotations

import decimal
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from penstock.runtime.relational.evolution.meaning import FilterMeaning
from penstock.runtime.relational.evolution.widening import keeps_values
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.runtime.relational.specs.window import Window
from penstock.runtime.relational.steps.assign_windows import AssignWindowsStep
from penstock.runtime.relational.steps.calc import CalcStep
from penstock.runtime.relational.steps.constraints import DeleteUnless, NotNullStep, WithoutUpdateBefore
from penstock.runtime.relational.steps.expand import ExpandStep
from penstock.runtime.relational.steps.slice_partials import SlicePartialsStep
from penstock.runtime.relational.steps.unnest import UnnestStep

_ANY_ORDER = (
    "AND",
    "OR",
    "=",
    "<>",
    "IS_NOT_DISTINCT_FROM",
    "IS_DISTINCT_FROM",
)  # the order of arguments means nothing
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of an object, which differs in each process
_LONGEST = 300  # characters of a text; longer ones are shortened, because texts contain texts


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """What a column means, and the columns of tables and operators that it is computed from."""

    text: str
    reads: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> ColumnLineage:
        """Returns a column that is not computed."""
        return cls(shortened(text), (shortened(text),))


@dataclass(frozen=True, slots=True)
class Lineage:
    """The rows of a node: the table or operator that they come from, the filters that they passed, and their columns."""

    base: str
    columns: tuple[ColumnLineage, ...] = ()
    filters: tuple[FilterMeaning, ...] = ()
    sources: tuple[str, ...] = ()  # uids of the sources that are read

    @property
    def rows(self) -> str:
        """The rows as one text."""
        return "|".join([self.base, *sorted(f.text for f in self.filters)])

    def column(self, index: int) -> ColumnLineage:
        """Returns what a column means. A column of a step that is not known has its position."""
        if 0 <= index < len(self.columns):
            return self.columns[index]
        return ColumnLineage.of(f"{self.rows}#{index}")

    def texts(self, indexes: Sequence[int]) -> tuple[str, ...]:
        """Returns the texts of columns."""
        return tuple(self.column(i).text for i in indexes)


def shortened(text: str) -> str:
    """Returns a text, or its beginning and its digest if it is long.

    >>> shortened("short"), len(shortened("a" * 1000))
    ('short', 163)
    """
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]}~{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def expression_lineage(expression: Expression, lineage: Lineage) -> ColumnLineage:
    """Returns what an expression over the columns of a node means."""
    if isinstance(expression, Column):
        return lineage.column(expression.index)
    if isinstance(expression, Literal):
        return ColumnLineage(shortened(str(expression)), ())
    if not isinstance(expression, Call):
        return ColumnLineage(shortened(repr(expression)), ("?",))
    arguments = [expression_lineage(a, lineage) for a in expression.arguments]
    if expression.function == "CAST" and keeps_values(expression.arguments[0].type, expression.type):
        return arguments[0]
    reads = tuple(sorted({name for a in arguments for name in a.reads}))
    texts = [a.text for a in arguments]
    if expression.function in _ANY_ORDER:
        texts.sort()
    texts += [str(option) for option in expression.options if option is not None]
    if expression.function in ("CAST", "TRY_CAST"):
        texts.append(str(expression.type.with_nullable(True)))
    if len(texts) == 2 and not expression.function[0].isalpha():  # an operator such as + or >=
        return ColumnLineage(shortened(f"({texts[0]} {expression.function} {texts[1]})"), reads)
    return ColumnLineage(shortened(f"{expression.function}({', '.join(texts)})"), reads)


def stable_text(value: Any) -> str:
    """Returns a text of plain data that is the same in each process, without names for people and pickled functions.

    >>> stable_text((1, object()))
    '(1, object)'
    """
    if isinstance(value, msgspec.Struct):
        fields = [f for f in value.__struct_fields__ if f not in ("name", "payload", "nullable")]
        return f"{type(value).__name__}({', '.join(f'{f}={stable_text(getattr(value, f))}' for f in fields)})"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(stable_text, value))})"
    if isinstance(value, dict):
        return f"({', '.join(f'{key}: {stable_text(one)}' for key, one in value.items())})"
    plain = value is None or isinstance(value, str | int | float | bytes | decimal.Decimal)
    return repr(value) if plain else type(value).__name__


def conjuncts(condition: Expression | None) -> list[Expression]:
    """Returns the parts of a condition that are joined by AND."""
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def window_text(window: Window, lineage: Lineage) -> str:
    """Returns a window in terms of the time column."""
    parts = [window.kind, f"size {window.size} ms"]
    parts += [f"slide {window.slide} ms"] if window.slide else []
    parts += [f"offset {window.offset} ms"] if window.offset else []
    parts += [] if window.event_time else ["processing time"]
    parts += [window.zone] if window.zone else []
    if window.time_column >= 0:
        parts.append(f"of {lineage.column(window.time_column).text}")
    parts += [f"by {text}" for text in lineage.texts(window.partition)]
    return " ".join(parts)


def step_lineage(step: Any, lineage: Lineage, meaning: str, name: str) -> Lineage:
    """Returns the lineage after a step. Of steps that are not known here, only the text `meaning` is compared."""
    if isinstance(step, CalcStep):
        columns = tuple(expression_lineage(p, lineage) for p in step.projections)
        return replace(lineage, columns=columns, filters=_filtered(lineage, step.condition))
    if isinstance(step, DeleteUnless):
        return replace(lineage, filters=_filtered(lineage, step.condition))
    if isinstance(step, NotNullStep | WithoutUpdateBefore | SlicePartialsStep):
        return lineage
    if isinstance(step, AssignWindowsStep):
        window = window_text(step.window, lineage)
        added = tuple(ColumnLineage.of(f"{part}({window})") for part in ("window_start", "window_end", "window_time"))
        return replace(lineage, base=shortened(f"{lineage.base}|{window}"), columns=(*lineage.columns, *added))
    if isinstance(step, ExpandStep):
        sets = sorted(
            f"({', '.join(sorted(lineage.texts(sorted(one))))}) {id_}"
            for one, id_ in zip(step.sets, step.ids, strict=True)
        )
        base = shortened(f"{lineage.rows}|grouping sets {', '.join(sets)}")
        return Lineage(base, (*lineage.columns, ColumnLineage.of("expand_id")), (), lineage.sources)
    if isinstance(step, UnnestStep):
        text = lineage.column(step.column).text
        base = shortened(f"{lineage.rows}|unnest {text} {meaning.partition(',')[2]}")
        added = tuple(ColumnLineage.of(f"element {i} of {text}") for i in range(step.width))
        return Lineage(base, (*lineage.columns, *added), (), lineage.sources)
    # The text of a step that is not known may contain positions, so the order of columns counts.
    texts = ", ".join(column.text for column in lineage.columns)
    meaning = _ADDRESS.sub("", meaning)
    return Lineage(shortened(f"{lineage.rows}|{name} {meaning} of ({texts})"), lineage.columns, (), lineage.sources)


def _filtered(lineage: Lineage, condition: Expression | None) -> tuple[FilterMeaning, ...]:
    found = {f.text: f for f in lineage.filters}
    for part in conjuncts(condition):
        meant = expression_lineage(part, lineage)
        found[meant.text] = FilterMeaning(meant.text, meant.reads)
    return tuple(found[text] for text in sorted(found))


def union_lineage(inputs: Sequence[Lineage]) -> Lineage:
    """Returns the lineage of UNION ALL. The order of its inputs means nothing."""
    base = shortened(f"union({', '.join(sorted(one.rows for one in inputs))})")
    width = min((len(one.columns) for one in inputs), default=0)
    columns = []
    for index in range(width):
        parts = sorted(f"{one.rows}:{one.columns[index].text}" for one in inputs)
        columns.append(ColumnLineage.of(f"any({', '.join(parts)})"))
    sources = tuple(sorted({source for one in inputs for source in one.sources}))
    return Lineage(base, tuple(columns), (), sources)
