"""A job as text of Mermaid, which many documentation tools draw."""

from __future__ import annotations

from penstock.plan.explained import ExplainedJob, Step

_SHAPES = {"source": '(["{}"])', "sink": '[/"{}"/]', "step": '("{}")', "operator": '["{}"]'}


def mermaid(job: ExplainedJob) -> str:
    """A flow chart with one box for each level."""
    lines = ["flowchart LR"]
    for level in range(job.depth + 1):
        lines.append(f'  subgraph level{level}["level {level}"]')
        lines += [f"    n{step.id}{_SHAPES[step.kind].format(_label(step))}" for step in job.at(level)]
        lines.append("  end")
    for step in job.steps:
        for edge in step.inputs:
            label = "" if str(edge) == "forward" else f'|"{_safe(str(edge))}"|'
            lines.append(f"  n{edge.source} -->{label} n{step.id}")
    return "\n".join(lines) + "\n"


def _label(step: Step) -> str:
    parts = [f"<b>{_safe(step.name)}</b>", _safe(step.uid), *map(_safe, step.details()), _safe(step.line)]
    return "<br/>".join(part for part in parts if part)


def _safe(text: str) -> str:
    """
    >>> _safe('say "hi" <now>')
    'say #quot;hi#quot; #lt;now#gt;'
    """
    for sign, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(sign, code)
    return text
