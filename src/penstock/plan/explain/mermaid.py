"""A job as a Mermaid flow chart."""

from __future__ import annotations

from penstock.plan.explain.job_description import ExplainedJob, ExplainedStep

_SHAPES = {"source": '(["{}"])', "sink": '[/"{}"/]', "step": '("{}")', "operator": '["{}"]'}


def mermaid(job: ExplainedJob) -> str:
    """The flow chart, with one box per level."""
    lines = ["flowchart LR"]
    for level in range(job.depth + 1):
        lines.append(f'  subgraph level{level}["level {level}"]')
        lines += [f"    n{step.id}{_SHAPES[step.kind].format(_label(step))}" for step in job.at(level)]
        lines.append("  end")
    for step in job.steps:
        for edge in step.inputs:
            label = "" if str(edge) == "forward" else f'|"{_escape(str(edge))}"|'
            lines.append(f"  n{edge.source} -->{label} n{step.id}")
    return "\n".join(lines) + "\n"


def _label(step: ExplainedStep) -> str:
    parts = [f"<b>{_escape(step.name)}</b>", _escape(step.uid), *map(_escape, step.details()), _escape(step.line)]
    return "<br/>".join(part for part in parts if part)


def _escape(text: str) -> str:
    """
    >>> _escape('say "hi" <now>')
    'say #quot;hi#quot; #lt;now#gt;'
    """
    for sign, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(sign, code)
    return text
