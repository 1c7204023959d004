"""The plan of a query as text: relations, changes, keys, state and advice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from penstock.runtime.relational.expressions.tree import Call, Expression, columns_of, python_function, walk
from penstock.runtime.relational.functions.registry import FUNCTIONS
from penstock.table import relations as r
from penstock.table import traits
from penstock.table.explain.describe import names_of, state_growth, title
from penstock.table.lower.lowering import Lowering

_STATEFUL = (
    r.Aggregate,
    r.WindowAggregate,
    r.WindowRank,
    r.Rank,
    r.Deduplicate,
    r.Over,
    r.Match,
    r.Sort,
    r.Join,
    r.SetOperation,
    r.Normalize,
)


def explain(relations: Sequence[r.Relation], lowering: Lowering, details: Sequence[str] = ()) -> str:
    """Returns the text of EXPLAIN for the sinks or the query of a statement.

    details: CHANGELOG_MODE adds the kinds of changes, ESTIMATED_COST the growth of state, PLAN_ADVICE the advice, and
    JSON_EXECUTION_PLAN the plan as JSON. Without details, everything but the JSON is printed.
    """
    wanted = set(details)
    blocks = ["== Optimized Plan ==", *("\n".join(_tree(relation, lowering, wanted)) for relation in relations)]
    advice = [line for relation in relations for line in _advice(relation, lowering)]
    if not wanted or "PLAN_ADVICE" in wanted:
        blocks += ["", "== Advice ==", *(advice or ["No advice."])]
    if "JSON_EXECUTION_PLAN" in wanted:
        plan = [_as_json(relation, lowering) for relation in relations]
        blocks += ["", "== Physical Execution Plan ==", json.dumps({"nodes": plan}, indent=2)]
    return "\n".join(blocks) + "\n"


def _tree(relation: r.Relation, lowering: Lowering, wanted: set[str], depth: int = 0) -> list[str]:
    facts = facts_of(relation, lowering)
    shown = [
        f"{name}=[{facts[name]}]"
        for name, detail in (
            ("changelogMode", "CHANGELOG_MODE"),
            ("key", ""),
            ("exchange", ""),
            ("reads", ""),
            ("state", "ESTIMATED_COST"),
        )
        if facts.get(name) and (not wanted or not detail or detail in wanted or name == "state")
    ]
    indent = "" if depth == 0 else "   " * (depth - 1) + "+- "
    line = f"{indent}{title(relation)}"
    lines = [line + (f": {', '.join(shown)}" if shown else "")]
    for inner in relation.inputs():
        lines += _tree(inner, lowering, wanted, depth + 1)
    return lines


def facts_of(relation: r.Relation, lowering: Lowering) -> dict[str, str]:
    """Returns what is known about a relation: changelogMode, key, exchange, reads and state. Unknown facts are missing or empty."""
    facts = {"changelogMode": lowering.changelog(relation).kinds()}
    names = names_of(relation)
    keys = sorted(traits.upsert_keys(relation), key=lambda key: (len(key), sorted(key)))
    if keys:
        facts["key"] = ", ".join(names[c] for c in sorted(keys[0]))
    facts["exchange"] = _exchange(relation)
    if isinstance(relation, r.Calc) and isinstance(relation.input, r.Scan):
        facts["reads"] = f"{len(_read_columns(relation))} of {len(relation.input.row_type.fields)} columns"
    inputs = [lowering.changelog(i) for i in relation.inputs()]
    facts["state"] = state_growth(relation, inputs, lowering.state_ttl(relation))
    return facts


def _read_columns(calc: r.Calc) -> set[int]:
    return columns_of(*calc.projections, *([] if calc.condition is None else [calc.condition]))


def _exchange(relation: r.Relation) -> str:
    if not isinstance(relation, _STATEFUL):
        return ""
    keys: Sequence[int] = getattr(relation, "keys", getattr(relation, "partition", ()))
    if not relation.inputs() or isinstance(relation, r.Join | r.SetOperation):
        return "by key"
    inner = names_of(relation.inputs()[0])
    return f"hash({', '.join(inner[k] for k in keys)})" if keys else "single"


def _advice(relation: r.Relation, lowering: Lowering) -> list[str]:
    lines: list[str] = []
    inputs = [lowering.changelog(i) for i in relation.inputs()]
    growth = state_growth(relation, inputs, lowering.state_ttl(relation))
    unbounded = growth.startswith(("grows", "all rows", "both inputs", "one row for each", "distinct rows"))
    if unbounded and not lowering.state_ttl(relation):
        lines.append(
            f"{title(relation).split('(', 1)[0]} keeps state forever: {growth}. Set 'table.exec.state.ttl', or a STATE_TTL hint, "
            "if rows of a key do not matter after some time."
        )
    if isinstance(relation, r.Join) and relation.condition is None and relation.kind not in ("SEMI", "ANTI"):
        lines.append(
            f"{title(relation)} has no condition: every row is joined with all rows of the other input, in one task. The result "
            "grows with the product of both inputs. Add a condition to ON or WHERE, if rows belong together."
        )
    if isinstance(relation, r.WindowAggregate | r.WindowRank) and not _has_watermark(relation):
        lines.append(
            "A window waits for a watermark, but no table of the query declares one: results come only when the input ends."
        )
    if isinstance(relation, r.Calc) and not all(c.insert_only for c in inputs):
        for expression in relation.projections:
            for part in walk(expression):
                name = _volatile_function(part)
                if name:
                    lines.append(
                        f"{name} is computed again for the row before an update, so that -U may not equal the row that it "
                        "removes. Compute it before the aggregation."
                    )
    for inner in relation.inputs():
        lines += _advice(inner, lowering)
    return list(dict.fromkeys(lines))


def _volatile_function(part: Expression) -> str:
    """Returns the name of the function that a call calls, if it is not deterministic, else nothing."""
    python = python_function(part)
    if python is not None:
        return "" if python.deterministic else python.label
    if not isinstance(part, Call) or part.function not in FUNCTIONS:
        return ""
    return "" if FUNCTIONS[part.function].is_deterministic(len(part.arguments)) else part.function


def _has_watermark(relation: r.Relation) -> bool:
    if isinstance(relation, r.Scan):
        return relation.table.watermark is not None
    window: Any = getattr(relation, "window", None)
    if window is not None and not window.event_time:
        return True
    return any(_has_watermark(i) for i in relation.inputs())


def _as_json(relation: r.Relation, lowering: Lowering) -> dict[str, Any]:
    facts = {name: text for name, text in facts_of(relation, lowering).items() if text}
    inputs = [_as_json(i, lowering) for i in relation.inputs()]
    return {"type": type(relation).__name__, "contents": title(relation), **facts, "inputs": inputs}
