"""Methods of JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.table.data_types import DataType, DataTypes
from penstock.table.dialect import nodes
from penstock.table.expressions.base import ExpressionBase, call_text, node_of, text_of
from penstock.table.expressions.types import logical_of, type_reference
from penstock.table.expressions.units import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression

_WRAPPERS = {
    JsonQueryWrapper.WITHOUT_ARRAY: "WITHOUT",
    JsonQueryWrapper.CONDITIONAL_ARRAY: "WITH CONDITIONAL",
    JsonQueryWrapper.UNCONDITIONAL_ARRAY: "WITH UNCONDITIONAL",
}


class JsonMethods(ExpressionBase):
    """JSON documents, which are text."""

    def is_json(self, json_type: JsonType | None = None) -> Expression[bool]:
        """Whether the text is JSON, or JSON of one kind."""
        kind = JsonType.VALUE if json_type is None else json_type
        node = exp.Is(this=self.node, expression=exp.Var(this=f"JSON {kind.name}"))
        return self._new(node, call_text("IS_JSON", self, *([] if json_type is None else [json_type])))

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Expression[bool]:
        """Whether the document has something at a path."""
        node = nodes.Call(this="JSON_EXISTS", expressions=[self.node, node_of(path)])
        if on_error is not None:
            node.set("on_error", nodes.Behavior(this=on_error.name))
        return self._new(node, call_text("JSON_EXISTS", self, path, *([] if on_error is None else [on_error])))

    def json_value(
        self,
        path: str,
        returning_type: DataType | None = None,
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Expression[Any]:
        """The scalar value at a path of the document, as a type."""
        type_ = DataTypes.STRING() if returning_type is None else returning_type
        node = nodes.Call(
            this="JSON_VALUE",
            expressions=[self.node, node_of(path)],
            returning=type_reference(logical_of(type_)),
            on_empty=_behavior(on_empty, default_on_empty),
            on_error=_behavior(on_error, default_on_error),
        )
        parts = [self, path, on_empty, default_on_empty, on_error, default_on_error]
        texts = [text_of(part) for part in parts]
        texts.insert(2, str(type_))
        return self._new(node, f"JSON_VALUE({', '.join(texts)})")

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Expression[str]:
        """The part of the document at a path, as JSON."""
        node = nodes.Call(
            this="JSON_QUERY",
            expressions=[self.node, node_of(path)],
            wrapper=_WRAPPERS[wrapping_behavior],
            on_empty=nodes.Behavior(this=on_empty.name.replace("_", " ")),
            on_error=nodes.Behavior(this=on_error.name.replace("_", " ")),
        )
        texts = [text_of(part) for part in (self, path, wrapping_behavior, on_empty, on_error)]
        texts.insert(2, "STRING")
        return self._new(node, f"JSON_QUERY({', '.join(texts)})")

    def json_quote(self) -> Expression[str]:
        """The text as a JSON string."""
        return self._call("JSON_QUOTE", "JSON_QUOTE")

    def json_unquote(self) -> Expression[str]:
        """The text of a JSON string."""
        return self._call("JSON_UNQUOTE", "JSON_UNQUOTE")


def _behavior(kind: JsonValueOnEmptyOrError, default: object) -> nodes.Behavior:
    if kind is JsonValueOnEmptyOrError.DEFAULT:
        return nodes.Behavior(this="DEFAULT", expression=node_of(default))
    return nodes.Behavior(this=kind.name)
