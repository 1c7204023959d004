"""A job as a tree for the terminal: a branch for each level, and in it the chains of steps."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from penstock.plan.explained import Edge, ExplainedJob, Step

_COLOURS = {"source": "green", "operator": "blue", "sink": "yellow", "step": "default"}


def job_tree(job: ExplainedJob) -> Group:
    """Each step once; where elements move to another level, the way there is told."""
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
            _grow(tree, job, step, None, shown)
    return tree


def _in_chain(job: ExplainedJob, step: Step) -> bool:
    """Whether a step hangs on another one of its own level."""
    steps = job.by_id()
    return any(steps[e.source].level == step.level for e in step.inputs)


def _grow(tree: Tree, job: ExplainedJob, step: Step, edge: Edge | None, shown: set[int]) -> None:
    if step.id in shown:
        tree.add(Text.assemble((step.name, "bold"), f"  uid {step.uid}, ", ("see above", "dim")))
        return
    shown.add(step.id)
    branch = tree.add(_told(step, edge))
    steps = job.by_id()
    for before in step.inputs:
        if steps[before.source].level != step.level:
            branch.add(Text(f"← {before} from {steps[before.source].uid}", style="magenta"))
    for reader, way in job.readers()[step.id]:
        if reader.level == step.level:
            _grow(branch, job, reader, way, shown)
        else:
            branch.add(Text(f"→ {way} to level {reader.level}, {reader.uid}", style="magenta"))


def _told(step: Step, edge: Edge | None) -> Text:
    told = Text.assemble((step.name, f"bold {_COLOURS[step.kind]}"), f"  uid {step.uid}")
    if step.line:
        told.append(f"  {step.line}", style="dim")
    if edge is not None and edge.side_output:
        told.append(f"  side output '{edge.side_output}'", style="magenta")
    for detail in step.details():
        told.append(f"\n{detail}", style="cyan" if detail == step.window else "")
    return told
