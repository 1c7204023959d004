"""The automaton of a pattern with preferences, as the SQL standard defines them.

A place takes one row of a variable. Behind each place are the places that may take the next row, and the end of the pattern, the
preferred ones first. What is behind the end is never preferred to it, so it is left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.errors import PlanError
from penstock.runtime.relational.specs.pattern_tree import (
    ChoiceNode,
    ExclusionNode,
    PatternTree,
    RepeatNode,
    SequenceNode,
    VariableNode,
)

END = -1  # the pattern is complete
_MOST_PLACES = 10_000


@dataclass(frozen=True, slots=True)
class Place:
    """Takes one row of a variable. following: numbers of places, or END."""

    variable: str
    excluded: bool
    following: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PreferenceAutomaton:
    """start: the places that may take the first row, and END if a match may be empty."""

    places: tuple[Place, ...]
    start: tuple[int, ...]

    def fingerprint(self) -> int:
        """Stored partial matches can be read only by an automaton with the same fingerprint."""
        parts = [(p.variable, p.following) for p in self.places]
        return zlib.crc32(repr((parts, self.start)).encode())

    def reachable(self, place: int) -> Iterator[int]:
        """Yields a place and all places that may take a later row."""
        seen, waiting = {place}, [place]
        while waiting:
            yield (current := waiting.pop())
            new = {f for f in self.places[current].following if f != END} - seen
            seen |= new
            waiting += new


def compile_tree(tree: PatternTree) -> PreferenceAutomaton:
    """Returns the automaton of a pattern.

    >>> from penstock.runtime.relational.specs.pattern_tree import RepeatNode, SequenceNode, VariableNode
    >>> compile_tree(SequenceNode((VariableNode("A"), RepeatNode(VariableNode("B"), 0)))).places
    (Place(variable='B', excluded=False, following=(0, -1)), Place(variable='A', excluded=False, following=(0, -1)))
    """
    return _Compiler().compile(tree)


@dataclass(slots=True)
class _Node:
    """A step without a row, unless it is that of a place. enters, leaves: an iteration that must take a row."""

    targets: tuple[int, ...] = ()
    place: int | None = None
    enters: int | None = None
    leaves: int | None = None


@dataclass(slots=True)
class _Compiler:
    nodes: list[_Node] = field(default_factory=lambda: [_Node()])  # the first one is the end
    places: list[tuple[str, bool, int]] = field(default_factory=list)  # variable, excluded, the node behind it
    iterations: int = 0

    def compile(self, tree: PatternTree) -> PreferenceAutomaton:
        first = self._build(tree, 0, False)
        places = tuple(Place(name, excluded, self._closure(behind)) for name, excluded, behind in self.places)
        return PreferenceAutomaton(places, self._closure(first))

    def _node(self, node: _Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _build(self, tree: PatternTree, behind: int, excluded: bool) -> int:
        """Returns the first node of a part. behind: the node after the part."""
        match tree:
            case VariableNode():
                if len(self.places) == _MOST_PLACES:
                    raise PlanError(
                        "SQL_PATTERN",
                        f"PATTERN is too large: with all repetitions it takes more than {_MOST_PLACES} rows. Write smaller "
                        "numbers of repetitions.",
                    )
                self.places.append((tree.variable, excluded, behind))
                return self._node(_Node(place=len(self.places) - 1))
            case SequenceNode():
                for part in reversed(tree.parts):
                    behind = self._build(part, behind, excluded)
                return behind
            case ChoiceNode():
                return self._node(_Node(tuple(self._build(part, behind, excluded) for part in tree.parts)))
            case ExclusionNode():
                return self._build(tree.excluded, behind, True)
            case RepeatNode():
                return self._repeat(tree, behind, excluded)

    def _repeat(self, tree: RepeatNode, behind: int, excluded: bool) -> int:
        first = behind
        if tree.maximum is None:
            first = self._node(_Node())
            self.nodes[first].targets = self._choice(self._iteration(tree, first, excluded), behind, tree.reluctant)
        else:
            for _ in range(tree.maximum - tree.minimum):
                iteration = self._iteration(tree, first, excluded)
                first = self._node(_Node(self._choice(iteration, behind, tree.reluctant)))
        for _ in range(tree.minimum):
            first = self._build(tree.repeated, first, excluded)
        return first

    def _choice(self, iteration: int, behind: int, reluctant: bool) -> tuple[int, int]:
        return (behind, iteration) if reluctant else (iteration, behind)

    def _iteration(self, tree: RepeatNode, behind: int, excluded: bool) -> int:
        """An iteration beyond the least number of iterations must take a row; otherwise a loop would have no end."""
        self.iterations += 1
        number = self.iterations
        leave = self._node(_Node((behind,), leaves=number))
        return self._node(_Node((self._build(tree.repeated, leave, excluded),), enters=number))

    def _closure(self, first: int) -> tuple[int, ...]:
        """Returns the places that can be reached without a row, in the order of preference."""
        found: dict[int, None] = {}
        none: frozenset[int] = frozenset()
        seen: set[tuple[int, frozenset[int]]] = set()
        waiting = [(first, none)]
        while waiting:
            number, entered = current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            node = self.nodes[number]
            if number == 0:
                found[END] = None
                break
            if node.place is not None:
                found[node.place] = None
                continue
            if node.leaves in entered:
                continue
            if node.enters is not None:
                entered |= {node.enters}
            waiting += [(target, entered) for target in reversed(node.targets)]
        return tuple(found)
