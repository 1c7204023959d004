"""A job whose sinks write into files of a folder, whatever they were."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from penstock.connectors.encoder import Encoder
from penstock.connectors.sinks import CollectSink, DiscardingSink, JsonLinesSink, PrintSink
from penstock.plan.graph import JobGraph
from penstock.plan.nodes import SinkNode
from penstock.types import TypeInformation
from penstock.types.flink_text import flink_text

MARK = "@fork"  # behind the uid of a redirected sink: what the real one remembers is not for this one


class Redirected(msgspec.Struct):
    """A sink, and where its elements go instead."""

    uid: str
    name: str
    kind: str
    folder: str


class _AnyJson(Encoder):
    """Elements as JSON, one a line; what has no JSON as text."""

    def encode(self, values: list[Any], kind: TypeInformation | None) -> list[bytes]:
        encode = msgspec.json.Encoder(enc_hook=_as_text, order="sorted").encode
        text = None if kind is None else flink_text(kind)
        return [_line(encode, text, value) + b"\n" for value in values]


def _line(encode: Any, text: Any, value: Any) -> bytes:
    try:
        line: bytes = encode(value)
    except (TypeError, ValueError):  # keys of a dict that are not text
        line = encode(repr(value) if text is None else text(value))
    return line


def _as_text(value: Any) -> Any:
    to_dict = getattr(value, "as_dict", None)  # a Row
    return to_dict() if callable(to_dict) else repr(value)


class ForkedSink(JsonLinesSink):
    """JSON lines of any elements."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.encoder = _AnyJson()


def redirected(graph: JobGraph, folder: str, keep_collected: bool = False) -> tuple[JobGraph, list[Redirected]]:
    """The same job with other sinks, and what was redirected where. Elements that nobody keeps are counted still."""
    nodes, told = [], []
    last = graph.sinks[-1].id if graph.sinks else None
    for node in graph.nodes:
        if not isinstance(node, SinkNode) or isinstance(node.sink, DiscardingSink):
            nodes.append(node)
            continue
        if keep_collected and node.id == last and type(node.sink) is CollectSink:
            nodes.append(node)  # the program itself waits for these
            continue
        where = str(Path(folder, quote(node.uid, safe="")))
        told.append(Redirected(node.uid, node.name, _kind(node.sink), where))
        nodes.append(dataclasses.replace(node, uid=f"{node.uid}{MARK}", sink=ForkedSink(where)))
    return dataclasses.replace(graph, nodes=tuple(nodes)), told


def _kind(sink: Any) -> str:
    return "print" if isinstance(sink, PrintSink) else type(sink).__name__
