"""What each node's elements are: declared, read from annotations, or those of the node before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from penstock.plan.inference import inferred
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
from penstock.plan.windows import WindowDescription
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


def typed(node: Node, nodes: Sequence[Node]) -> Node:
    """A new node with the type of its elements; `nodes` are those made before, by their ids."""
    if node.output_type is not None:
        declared = type_information(node.output_type)
        return replace(node, output_type=declared, checked=declared.declared)
    return replace(node, output_type=_type_of(node, [nodes[i] for i in node.inputs]))


def _type_of(node: Node, inputs: list[Node]) -> TypeInformation | None:
    if isinstance(node, SourceNode):
        said = getattr(node.source, "output_type", None)
        return None if said is None or said is Any else type_information(said)
    if passes_elements_on(node):
        return _common([i.output_type for i in inputs])
    if isinstance(node, TransformNode):
        if (derived := getattr(node.function, "output_type_of", None)) is not None:
            return derived(inputs[0].output_type)  # type: ignore[no-any-return]
        return inferred(node.function, _METHODS[node.kind], many=node.kind != "map")
    if isinstance(node, OperatorNode) and isinstance(node.spec, CachedLookupSpec):
        return inferred(node.spec.output, (), many=False)
    if isinstance(node, OperatorNode) and isinstance(node.spec, (ProcessSpec, BroadcastSpec)):
        function, method = getattr(node.spec.function, "adapts", (node.spec.function, "process"))
        if method in ("filter", "reduce"):
            return inputs[0].output_type
        return inferred(function, _METHODS[method], many=method != "map") if method in _METHODS else None
    if isinstance(node, OperatorNode) and isinstance(node.spec, CoGroupSpec):
        return inferred(node.spec.function, ("co_group", "join"), many=node.spec.of != "join")
    if isinstance(node, OperatorNode) and isinstance(node.spec, IntervalJoinSpec):
        return inferred(node.spec.function, ("process_element",), many=True)
    if isinstance(node, OperatorNode) and isinstance(node.spec, WindowSpec):
        return _type_of_windows(node.spec.window, inputs[0])
    return None


def _type_of_windows(window: WindowDescription, elements: Node) -> TypeInformation | None:
    if window.function is not None:
        return inferred(window.function, ("process", "apply"), many=True)
    return elements.output_type if window.aggregate is None else inferred(window.aggregate, ("get_result",), many=False)


def declared_type(node: Node, nodes: Sequence[Node]) -> TypeInformation | None:
    """The type that the program declared for a node's elements, there or where they come from; annotations do not count."""
    if node.checked:
        return node.output_type
    if isinstance(node, SourceNode) and isinstance(getattr(node.source, "output_type", None), TypeInformation):
        return node.output_type  # the program gave it to the source's format
    if not (passes_elements_on(node) or _keeps_type(node)):
        return None
    return _common([declared_type(nodes[i], nodes) for i in node.inputs])


def _keeps_type(node: Node) -> bool:
    """Whether what comes out is of the type of what goes in, as with `reduce`."""
    if isinstance(node, OperatorNode) and isinstance(node.spec, WindowSpec):
        return node.spec.window.function is None and node.spec.window.aggregate is None
    if not (isinstance(node, OperatorNode) and isinstance(node.spec, ProcessSpec)):
        return False
    return getattr(node.spec.function, "adapts", (None, ""))[1] in ("filter", "reduce")


def passes_elements_on(node: Node) -> bool:
    """Whether a node's elements are its inputs' own."""
    if isinstance(node, TransformNode):
        return node.kind == "filter"
    if isinstance(node, OperatorNode):
        return isinstance(node.spec, (ExchangeSpec, MaterializeSpec))
    return isinstance(node, (PartitionNode, WatermarkNode, UnionNode))


def _common(types: list[TypeInformation | None]) -> TypeInformation | None:
    """The type that all have; equal row types with other field names are not the same here."""
    first = types[0] if types else None
    if first is None or any(t is None or t != first or t.name != first.name for t in types):
        return None
    return first
