"""Binds PATTERN: a list of steps if Flink has the pattern, which then has Flink's matches, and a tree otherwise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container

from sqlglot import exp

from penstock.errors import PlanError
from penstock.runtime.relational.matching.preference_automaton import END, PreferenceAutomaton, compile_tree
from penstock.runtime.relational.specs.match import MatchSkip, PatternStep
from penstock.runtime.relational.specs.pattern_tree import (
    ChoiceNode,
    ExclusionNode,
    PatternTree,
    RepeatNode,
    SequenceNode,
    VariableNode,
    variables,
)
from penstock.table.binder.queries.context import Context
from penstock.table.dialect import nodes

_MOST_PERMUTED = 6  # more permutations have too many steps


def bind_pattern(context: Context, node: exp.Expr) -> PatternTree:
    """Returns a pattern as a tree."""
    tree = _bind(context, node)
    if not variables(tree):
        raise context.refuse("SQL_PATTERN", "PATTERN has no variables, so that it can match no row.", node)
    return tree


def automaton(context: Context, tree: PatternTree, node: exp.Expr) -> PreferenceAutomaton:
    """Returns the automaton of a pattern."""
    try:
        return compile_tree(tree)
    except PlanError as error:
        raise context.refuse(error.code, error.text, node) from error


def cannot_skip(found: PreferenceAutomaton, skip: MatchSkip, skipped_to: Container[str]) -> bool:
    """Whether no match has a row to skip to. The first row of a match is none, because it would be found again without end."""
    places = found.places
    later = {places[f].variable for place in places for f in place.following if f != END}
    if not any(variable in skipped_to for variable in later):
        return True
    return skip.kind == "FIRST" and all(places[f].variable in skipped_to for f in found.start if f != END)


def flink_steps(tree: PatternTree) -> tuple[PatternStep, ...] | None:
    """Returns the steps of a pattern that Flink has, or None.

    >>> [str(step) for step in flink_steps(SequenceNode((RepeatNode(VariableNode("A"), 1), VariableNode("B"))))]
    ['A+', 'B']
    >>> flink_steps(RepeatNode(VariableNode("A"), 1)) is None  # greedy at the end
    True
    """
    steps = _steps(tree)
    if steps is None or len({step.variable for step in steps}) < len(steps):
        return None
    if all(step.minimum == 0 for step in steps) or any(
        (s.maximum, s.reluctant) == (1, True) and not s.minimum for s in steps
    ):
        return None  # empty matches, and A??
    last = steps[-1]
    if not last.reluctant and last.minimum != last.maximum and (last.minimum, last.maximum) != (0, 1):
        return None
    for before, step in itertools.pairwise(steps):
        greedy = not before.reluctant and before.minimum != before.maximum and before.maximum != 1
        if greedy and step.minimum == 0:
            return None
    return tuple(steps)


def _steps(tree: PatternTree) -> list[PatternStep] | None:
    match tree:
        case VariableNode():
            return [PatternStep(tree.variable)]
        case RepeatNode(repeated=VariableNode(variable=name)):
            return [PatternStep(name, tree.minimum, tree.maximum, tree.reluctant)]
        case SequenceNode(parts=[_, *_]):
            found = [_steps(part) for part in tree.parts]
            known = [steps for steps in found if steps is not None]
            return [step for steps in known for step in steps] if len(known) == len(found) else None
    return None


def _bind(context: Context, node: exp.Expr) -> PatternTree:
    match node:
        case nodes.PatternVariable():
            return VariableNode(node.name)
        case nodes.PatternSequence():
            return SequenceNode(_parts(context, node))
        case nodes.PatternAlternatives():
            return ChoiceNode(_parts(context, node))
        case nodes.PatternExclusion():
            return ExclusionNode(_bind(context, node.this))
        case nodes.PatternQuantifier():
            return _repeat(context, node)
        case nodes.PatternPermutation():
            parts = _parts(context, node)
            if len(parts) > _MOST_PERMUTED:
                raise context.refuse(
                    "SQL_PATTERN",
                    f"PERMUTE of {len(parts)} parts has {math.factorial(len(parts))} alternatives. It takes at most "
                    f"{_MOST_PERMUTED} parts.",
                    node,
                )
            return ChoiceNode(tuple(SequenceNode(some) for some in itertools.permutations(parts)))
        case nodes.PatternAnchor():
            where = "begins" if node.this == "^" else "ends"
            raise context.refuse(
                "SQL_UNSUPPORTED",
                f"The anchors ^ and $ are not supported in PATTERN: a stream does not say where a partition {where}.",
                node,
            )
    raise AssertionError(f"{type(node).__name__} in a pattern")


def _parts(context: Context, node: exp.Expr) -> tuple[PatternTree, ...]:
    return tuple(_bind(context, part) for part in node.expressions)


def _repeat(context: Context, node: nodes.PatternQuantifier) -> PatternTree:
    repeated = _bind(context, node.this)
    minimum, maximum = node.args["minimum"], node.args.get("maximum")
    if maximum is not None and maximum < max(minimum, 1):
        what = "no row" if maximum == 0 else f"{minimum} to {maximum} times {node.this.name or 'a group'}"
        raise context.refuse(
            "SQL_PATTERN",
            f"A quantifier of PATTERN takes {what}, so that it can never match. Write {{n,m}} with m >= n and m >= 1.",
            node,
        )
    return RepeatNode(repeated, minimum, maximum, bool(node.args.get("reluctant")))
