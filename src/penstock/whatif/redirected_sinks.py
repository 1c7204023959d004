"""Replaces the sinks of a job by sinks that write to files."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from penstock.connectors.basic_sinks import CollectSink, DiscardingSink, JsonLinesSink, PrintSink
from penstock.connectors.encoder import Encoder
from penstock.plan.graph import JobGraph
from penstock.plan.nodes import SinkNode
from penstock.types import TypeInformation
from penstock.types.flink_text import flink_formatter

FORK_SUFFIX = "@fork"  # added to the uid of a redirected sink, so that it does not restore the state of the real one


class RedirectedSink(msgspec.Struct):
    """A sink and the folder that its elements are written to instead."""

    uid: str
    name: str
    kind: str
    folder: str


class _AnyJson(Encoder):
    """Encodes elements as JSON lines. Values without a JSON form become text."""

    def encode(self, values: list[Any], kind: TypeInformation | None) -> list[bytes]:
        encode = msgspec.json.Encoder(enc_hook=_as_text, order="sorted").encode
        text = None if kind is None else flink_formatter(kind)
        return [_line(encode, text, value) + b"\n" for value in values]


def _line(encode: Any, text: Any, value: Any) -> bytes:
    try:
        line: bytes = encode(value)
    except (TypeError, ValueError):  # a dict has keys that are not text
        line = encode(repr(value) if text is None else text(value))
    return line


def _as_text(value: Any) -> Any:
    to_dict = getattr(value, "as_dict", None)  # a Row
    return to_dict() if callable(to_dict) else repr(value)


class ForkedSink(JsonLinesSink):
    """Writes any elements as JSON lines, in place of the sink with a uid."""

    def __init__(self, folder: str, uid: str) -> None:
        super().__init__(folder)
        self.encoder = _AnyJson()
        self.stands_in_for = uid  # the pending output of that sink is not unclaimed


def redirect_sinks(graph: JobGraph, folder: str, keep_collected: bool = False) -> tuple[JobGraph, list[RedirectedSink]]:
    """Returns the job with redirected sinks, and a list of them. Discarding sinks stay, so that their elements are counted.

    With `keep_collected`, the last sink also stays if it collects elements for the program.
    """
    nodes, redirected = [], []
    last = graph.sinks[-1].id if graph.sinks else None
    for node in graph.nodes:
        if not isinstance(node, SinkNode) or isinstance(node.sink, DiscardingSink):
            nodes.append(node)
            continue
        if keep_collected and node.id == last and type(node.sink) is CollectSink:
            nodes.append(node)  # the program waits for these elements
            continue
        target = str(Path(folder, quote(node.uid, safe="")))
        redirected.append(RedirectedSink(node.uid, node.name, _kind(node.sink), target))
        nodes.append(dataclasses.replace(node, uid=f"{node.uid}{FORK_SUFFIX}", sink=ForkedSink(target, node.uid)))
    return dataclasses.replace(graph, nodes=tuple(nodes)), redirected


def _kind(sink: Any) -> str:
    return "print" if isinstance(sink, PrintSink) else type(sink).__name__
