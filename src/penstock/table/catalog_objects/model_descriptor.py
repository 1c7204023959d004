"""Descriptions of models. Penstock has no models, so that only programs that describe one without creating it can use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.table.environment.descriptor import Schema


class ModelDescriptor:
    """The options and the schemas of a model.

    >>> ModelDescriptor.for_provider("openai").option("task", "chat").build().get_options()
    {'provider': 'openai', 'task': 'chat'}
    """

    def __init__(
        self,
        options: Mapping[str, str],
        input_schema: Schema | None = None,
        output_schema: Schema | None = None,
        comment: str | None = None,
    ) -> None:
        self._options = dict(options)
        self._input_schema = input_schema
        self._output_schema = output_schema
        self._comment = comment

    @staticmethod
    def for_provider(provider: str) -> ModelDescriptor.Builder:
        """Returns the builder of a model of a provider."""
        return ModelDescriptor.Builder(provider)

    def get_options(self) -> dict[str, str]:
        """Returns the options."""
        return dict(self._options)

    def get_input_schema(self) -> Schema | None:
        """Returns the columns that the model reads."""
        return self._input_schema

    def get_output_schema(self) -> Schema | None:
        """Returns the columns that the model computes."""
        return self._output_schema

    def get_comment(self) -> str | None:
        """Returns the comment."""
        return self._comment

    class Builder:
        """Builder of a descriptor."""

        def __init__(self, provider: str) -> None:
            self._values: dict[str, Any] = {"options": {"provider": provider}}

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            """Sets the columns that the model reads."""
            self._values["input_schema"] = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            """Sets the columns that the model computes."""
            self._values["output_schema"] = output_schema
            return self

        def option(self, key: Any, value: Any) -> ModelDescriptor.Builder:
            """Sets an option."""
            name = str(key.key()) if callable(getattr(key, "key", None)) else str(key)
            self._values["options"][name] = str(value).lower() if isinstance(value, bool) else str(value)
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            """Sets the comment."""
            self._values["comment"] = comment
            return self

        def build(self) -> ModelDescriptor:
            """Returns the descriptor."""
            return ModelDescriptor(**self._values)
