"""The pattern of MATCH_RECOGNIZE as a tree, for patterns that are more than a list of different variables."""

from __future__ import annotations

from collections.abc import Container

import msgspec


class VariableNode(msgspec.Struct, frozen=True, tag_field="part", tag="variable"):
    """One row of a variable."""

    variable: str

    def __str__(self) -> str:
        return self.variable


class SequenceNode(msgspec.Struct, frozen=True, tag_field="part", tag="sequence"):
    """Parts one after the other. Without parts, it takes no row."""

    parts: tuple[PatternTree, ...]

    def __str__(self) -> str:
        grouped = (ChoiceNode, SequenceNode)
        return " ".join(f"({p})" if isinstance(p, grouped) and p.parts else str(p) for p in self.parts) or "()"


class ChoiceNode(msgspec.Struct, frozen=True, tag_field="part", tag="choice"):
    """One of several parts. The first is preferred."""

    parts: tuple[PatternTree, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.parts))


class RepeatNode(msgspec.Struct, frozen=True, tag_field="part", tag="repeat"):
    """A part several times. maximum: None without an upper bound. Unless it is reluctant, more times are preferred."""

    repeated: PatternTree
    minimum: int
    maximum: int | None = None
    reluctant: bool = False

    def __str__(self) -> str:
        plain = isinstance(self.repeated, VariableNode | ExclusionNode)
        inner = str(self.repeated) if plain else f"({self.repeated})"
        return f"{inner}{quantifier(self.minimum, self.maximum)}{'?' if self.reluctant else ''}"


class ExclusionNode(msgspec.Struct, frozen=True, tag_field="part", tag="exclusion"):
    """A part whose rows are not in the output of ALL ROWS PER MATCH."""

    excluded: PatternTree

    def __str__(self) -> str:
        return f"{{- {self.excluded} -}}"


PatternTree = VariableNode | SequenceNode | ChoiceNode | RepeatNode | ExclusionNode


def quantifier(minimum: int, maximum: int | None) -> str:
    """Returns the text of a quantifier.

    >>> quantifier(0, None), quantifier(2, None), quantifier(1, 3)
    ('*', '{2,}', '{1,3}')
    """
    match (minimum, maximum):
        case (1, 1):
            return ""
        case (0, 1):
            return "?"
        case (0, None):
            return "*"
        case (1, None):
            return "+"
        case (low, None):
            return f"{{{low},}}"
        case _:
            return f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{maximum}}}"


def variables(tree: PatternTree) -> list[str]:
    """Returns the variables of a pattern in their order, each once."""
    match tree:
        case VariableNode():
            return [tree.variable]
        case RepeatNode():
            return variables(tree.repeated)
        case ExclusionNode():
            return variables(tree.excluded)
        case _:
            return list(dict.fromkeys(name for part in tree.parts for name in variables(part)))


def requires(tree: PatternTree, wanted: Container[str]) -> bool:
    """Whether each match has a row of one of these variables."""
    match tree:
        case VariableNode():
            return tree.variable in wanted
        case RepeatNode():
            return tree.minimum > 0 and requires(tree.repeated, wanted)
        case ExclusionNode():
            return requires(tree.excluded, wanted)
        case ChoiceNode():
            return all(requires(part, wanted) for part in tree.parts)
        case SequenceNode():
            return any(requires(part, wanted) for part in tree.parts)


def may_be_empty(tree: PatternTree) -> bool:
    """Whether a pattern has a match without rows."""
    match tree:
        case VariableNode():
            return False
        case RepeatNode():
            return tree.minimum == 0 or may_be_empty(tree.repeated)
        case ExclusionNode():
            return may_be_empty(tree.excluded)
        case ChoiceNode():
            return any(map(may_be_empty, tree.parts))
        case SequenceNode():
            return all(map(may_be_empty, tree.parts))
