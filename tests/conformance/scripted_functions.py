"""Functions of the public API that do what words say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
)
from penstock.state import ValueStateDescriptor
from tests.conformance.statements import EVENT, Scene
from tests.conformance.words import Words


class _Told:
    """What all of them share."""

    beside_broadcast = False

    def __init__(self, words: Words) -> None:
        self._sections = words.sections
        self._state: Any = None

    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("stored"))

    def close(self) -> None:
        """Nothing to close."""

    def _scene(self, ctx: Any, value: Any = None, timer: int | None = None) -> Scene:
        return Scene(ctx, value, timer, self._state, self.beside_broadcast)

    def _run(self, section: str, scene: Scene) -> Iterable[Any]:
        for statement in self._sections.get(section, ()):
            yield from statement.run(scene)

    def _element(self, section: str, value: Any, ctx: Any) -> Iterable[Any]:
        scene = self._scene(ctx, value)
        stored = ""
        if "first" in self._sections or "again" in self._sections:
            stored = "first" if self._state.value() is None else "again"
        yield from self._run(section, scene)
        yield from self._run(stored, scene)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        scene = self._scene(ctx, timer=timestamp)
        yield from self._run("timer", scene)
        yield from self._run("event timer" if scene.domain() == EVENT else "processing timer", scene)


class ToldProcess(_Told, KeyedProcessFunction):
    """On a keyed stream."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._element("element", value, ctx)


class ToldCoProcess(_Told, KeyedCoProcessFunction):
    """On two keyed streams; what is told of elements holds for both."""

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield from self._run("input1", self._scene(ctx, value))
        yield from self._element("element", value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield from self._run("input2", self._scene(ctx, value))
        yield from self._element("element", value, ctx)


class ToldPlainBroadcast(_Told, BroadcastProcessFunction):
    """On a stream without keys beside a broadcast one."""

    beside_broadcast = True

    def open(self, runtime_context: RuntimeContext) -> None:
        """Without keys there is no state but the broadcast one."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._run("element", self._scene(ctx, value))

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._run("broadcast", self._scene(ctx, value))


class ToldBroadcast(_Told, KeyedBroadcastProcessFunction):
    """On a keyed stream beside a broadcast one."""

    beside_broadcast = True

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._element("element", value, ctx)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._run("broadcast", self._scene(ctx, value))
