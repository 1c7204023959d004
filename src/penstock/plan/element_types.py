"""The element type of each node: declared, inferred from annotations, or that of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.plan.inference import infer_type
from penstock.plan.nodes import (
    BroadcastSpec,
    CachedLookupSpec,
    CoGroupSpec,
    ExchangeSpec,
    IntervalJoinSpec,
    MaterializeSpec,
    Node,
    OperatorNode,
    PartitionNode,
    ProcessSpec,
    SourceNode,
    TransformNode,
    UnionNode,
    WatermarkNode,
    WindowSpec,
)
from penstock.types import TypeInformation, type_information

_METHODS = {
    "map": ("map", "map1", "map2"),
    "flat_map": ("flat_map", "flat_map1", "flat_map2"),
    "async": ("async_invoke",),
    "process": (
        "process_element",
        "process_element1",
        "process_element2",
        "process_broadcast_element",
        "on_timer",
    ),
}


def with_element_type(node: Node, nodes: Sequence[Node]) -> Node:
    """A node with the type of its elements. `nodes` are the earlier nodes by id."""
    if node.output_type is not None:
        declared = type_information(node.output_type)
        return replace(node, output_type=declared, checked=declared.converts)
    return replace(node, output_type=_type_of(node, [nodes[i] for i in node.inputs]))


def _type_of(node: Node, inputs: list[Node]) -> TypeInformation | None:
    if isinstance(node, SourceNode):
        declared = getattr(node.source, "output_type", None)
        return None if declared is None or declared is Any else type_information(declared)
    if forwards_elements(node):
        return _common([i.output_type for i in inputs])
    if isinstance(node, TransformNode):
        if node.kind == "columns":
            return None
        if (derived := getattr(node.function, "output_type_of", None)) is not None:
            return derived(inputs[0].output_type)  # type: ignore[no-any-return]
        return infer_type(node.function, _METHODS[node.kind], many=node.kind != "map")
    if isinstance(node, OperatorNode) and (infer := _OPERATOR_TYPES.get(type(node.spec))) is not None:
        return infer(node.spec, inputs[0].output_type)
    return None


def _process_type(spec: ProcessSpec | BroadcastSpec, input_type: TypeInformation | None) -> TypeInformation | None:
    function, method = getattr(spec.function, "adapts", (spec.function, "process"))
    if method in ("filter", "reduce"):
        return input_type
    return infer_type(function, _METHODS[method], many=method != "map") if method in _METHODS else None


def _window_type(spec: WindowSpec, input_type: TypeInformation | None) -> TypeInformation | None:
    window = spec.window
    if window.function is not None:
        return infer_type(window.function, ("process", "apply"), many=True)
    return input_type if window.aggregate is None else infer_type(window.aggregate, ("get_result",), many=False)


# The element type of an operator by the type of its specification: from the specification and the type of its first input.
_OPERATOR_TYPES: dict[type, Callable[[Any, TypeInformation | None], TypeInformation | None]] = {
    BroadcastSpec: _process_type,
    CachedLookupSpec: lambda spec, _: infer_type(spec.output, (), many=False),
    CoGroupSpec: lambda spec, _: infer_type(spec.function, ("co_group", "join"), many=spec.of != "join"),
    IntervalJoinSpec: lambda spec, _: infer_type(spec.function, ("process_element",), many=True),
    ProcessSpec: _process_type,
    WindowSpec: _window_type,
}


def declared_type(node: Node, nodes: Sequence[Node]) -> TypeInformation | None:
    """The type that the program declares for the elements of a node or of its inputs. Annotations are ignored."""
    if node.checked:
        return node.output_type
    if isinstance(node, SourceNode) and isinstance(getattr(node.source, "output_type", None), TypeInformation):
        return node.output_type  # declared by the format of the source
    if not (forwards_elements(node) or _keeps_type(node)):
        return None
    return _common([declared_type(nodes[i], nodes) for i in node.inputs])


def _keeps_type(node: Node) -> bool:
    """Whether the output type is the input type, as with `reduce`."""
    if isinstance(node, OperatorNode) and isinstance(node.spec, WindowSpec):
        return node.spec.window.function is None and node.spec.window.aggregate is None
    if not (isinstance(node, OperatorNode) and isinstance(node.spec, ProcessSpec)):
        return False
    return getattr(node.spec.function, "adapts", (None, ""))[1] in ("filter", "reduce")


def forwards_elements(node: Node) -> bool:
    """Whether a node outputs its input elements unchanged."""
    if isinstance(node, TransformNode):
        return node.kind == "filter"
    if isinstance(node, OperatorNode):
        return isinstance(node.spec, (ExchangeSpec, MaterializeSpec))
    return isinstance(node, (PartitionNode, WatermarkNode, UnionNode))


def _common(types: list[TypeInformation | None]) -> TypeInformation | None:
    """The common type; None if there is none. Row types with different field names are different here."""
    first = types[0] if types else None
    if first is None or any(t is None or t != first or t.name != first.name for t in types):
        return None
    return first
