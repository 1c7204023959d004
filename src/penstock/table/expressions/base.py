"""What all groups of methods of an expression build on: a node of the dialect, and its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from sqlglot import exp

from penstock.table.dialect import nodes
from penstock.table.expressions.values import value_node, value_text

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression


class ExpressionBase:
    """A node as the parser makes it for the same SQL, and the text that `str` returns, which names functions as Flink does."""

    def __init__(self, node: exp.Expr, text: str) -> None:
        self._node = node
        self._text = text

    @property
    def node(self) -> exp.Expr:
        """A new copy of the node, which may become a part of another one."""
        return self._node.copy()

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _new(self, node: exp.Expr, text: str) -> Expression[Any]:
        return cast("Expression[Any]", type(self)(node, text))

    def _call(self, name: str, text: str, *arguments: object) -> Expression[Any]:
        """Returns the call NAME(this, arguments). `text` is the name of the function in the text."""
        return self._function(name, text, self, *arguments)

    def _function(self, name: str, text: str, *arguments: object) -> Expression[Any]:
        """Returns the call NAME(arguments)."""
        node = nodes.Call(this=name, expressions=[node_of(a) for a in arguments])
        return self._new(_noted(node, text), call_text(text, *arguments))

    def _built(self, build: Callable[..., exp.Expr], text: str, *arguments: object) -> Expression[Any]:
        """Returns what `build` makes of the nodes of this expression and the arguments."""
        return self._new(build(self.node, *(node_of(a) for a in arguments)), call_text(text, self, *arguments))

    def _binary(self, kind: type[exp.Expr], text: str, left: object, right: object) -> Expression[Any]:
        node = kind(this=node_of(left), expression=node_of(right))
        return self._new(_noted(node, text), call_text(text, left, right))


def _noted(node: exp.Expr, name: str) -> exp.Expr:
    """Notes the name of the built-in function, which a temporary system function may replace."""
    node.meta["function"] = name
    return node


def node_of(value: object) -> exp.Expr:
    """Returns the node of an expression, or of a value of Python.

    >>> node_of("a").sql()
    "'a'"
    """
    return value.node if isinstance(value, ExpressionBase) else value_node(value, node_of)


def text_of(value: object) -> str:
    """Returns the text of an expression, or of a value of Python."""
    return str(value) if isinstance(value, ExpressionBase) else value_text(value, text_of)


def call_text(name: str, *arguments: object) -> str:
    """Returns the text of a call.

    >>> call_text("upper", "a")
    "upper('a')"
    """
    return f"{name}({', '.join(text_of(a) for a in arguments)})"
