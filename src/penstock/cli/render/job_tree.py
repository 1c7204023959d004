"""Renders a job as a tree: one branch per level, and in it the chains of steps."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from penstock.plan.explain.job_description import ExplainedEdge, ExplainedJob, ExplainedStep

_COLOURS = {"source": "green", "operator": "blue", "sink": "yellow", "step": "default"}


def job_tree(job: ExplainedJob) -> Group:
    """The tree of a job. Each step appears once; edges to other levels are shown with their partitioning."""
    mode = f"{job.mode} mode, " if job.mode != "STREAMING" else ""
    head = Text.assemble(
        (f"job '{job.name}'", "bold"), f"  {mode}parallelism {job.parallelism}, {job.max_parallelism} key groups"
    )
    if job.real_time:
        head.append(f"\nreal-time mode {job.real_time}", style="cyan")
    return Group(head, *(_level(job, number) for number in range(job.depth + 1)))


def _level(job: ExplainedJob, number: int) -> Tree:
    title = "read and chained" if number == 0 else "after a shuffle"
    tree = Tree(Text.assemble((f"level {number}", "bold"), (f"  {title}", "dim")), guide_style="dim")
    shown: set[int] = set()
    for step in job.at(number):
        if not _in_chain(job, step):
            _add_step(tree, job, step, None, shown)
    return tree


def _in_chain(job: ExplainedJob, step: ExplainedStep) -> bool:
    """Whether an input of the step is on the same level."""
    steps = job.by_id()
    return any(steps[e.source].level == step.level for e in step.inputs)


def _add_step(tree: Tree, job: ExplainedJob, step: ExplainedStep, edge: ExplainedEdge | None, shown: set[int]) -> None:
    if step.id in shown:
        tree.add(Text.assemble((step.name, "bold"), f"  uid {step.uid}, ", ("see above", "dim")))
        return
    shown.add(step.id)
    branch = tree.add(_step_text(step, edge))
    steps = job.by_id()
    for upstream in step.inputs:
        if steps[upstream.source].level != step.level:
            branch.add(Text(f"← {upstream} from {steps[upstream.source].uid}", style="magenta"))
    for reader, out in job.readers()[step.id]:
        if reader.level == step.level:
            _add_step(branch, job, reader, out, shown)
        else:
            branch.add(Text(f"→ {out} to level {reader.level}, {reader.uid}", style="magenta"))


def _step_text(step: ExplainedStep, edge: ExplainedEdge | None) -> Text:
    text = Text.assemble((step.name, f"bold {_COLOURS[step.kind]}"), f"  uid {step.uid}")
    if step.line:
        text.append(f"  {step.line}", style="dim")
    if edge is not None and edge.side_output:
        text.append(f"  side output '{edge.side_output}'", style="magenta")
    for detail in step.details():
        text.append(f"\n{detail}", style="cyan" if detail == step.window else "")
    return text
