"""The plan of a query as a picture, drawn like the graph of a job."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.plan.explain.job_description import ExplainedEdge, ExplainedJob, ExplainedStep
from penstock.plan.explain.svg import svg
from penstock.table import relations as r
from penstock.table.explain.describe import title
from penstock.table.explain.text import facts_of
from penstock.table.lower.lowering import Lowering


def plan_picture(relations: Sequence[r.Relation], lowering: Lowering) -> str:
    """Returns an SVG image: relations from left to right, in levels between exchanges."""
    steps: list[ExplainedStep] = []
    for relation in relations:
        _add(relation, lowering, steps)
    mode = "BATCH" if lowering.settings.batch_mode else "STREAMING"
    return svg(ExplainedJob("query", 1, 128, tuple(steps), mode))


def _add(relation: r.Relation, lowering: Lowering, steps: list[ExplainedStep]) -> ExplainedStep:
    inputs = [_add(one, lowering, steps) for one in relation.inputs()]
    facts = facts_of(relation, lowering)
    exchange = facts.get("exchange", "")
    level = max((i.level for i in inputs), default=0) + (1 if exchange else 0)
    name, _, rest = title(relation).partition("(")
    kind = "source" if not inputs else "sink" if isinstance(relation, r.Sink) else "operator" if exchange else "step"
    step = ExplainedStep(
        id=len(steps),
        kind=kind,
        name=name,
        uid="",
        level=level,
        chain_position=max((i.chain_position + 1 for i in inputs if i.level == level), default=0),
        parallelism=1,
        inputs=tuple(ExplainedEdge(i.id, exchange or "forward") for i in inputs),
        keyed=exchange.startswith("hash"),
        line=f"changes {facts['changelogMode']}",
        description=rest.removesuffix(")"),
        state=(facts["state"],) if facts.get("state") else (),
    )
    steps.append(step)
    return step
