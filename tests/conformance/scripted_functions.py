"""Functions that execute a `FunctionScript`."""

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
from tests.conformance.function_text import FunctionScript
from tests.conformance.statements import EVENT, Scene


class _ScriptedFunction:
    """Base class of scripted functions."""

    has_broadcast = False

    def __init__(self, script: FunctionScript) -> None:
        self._sections = script.sections
        self._state: Any = None

    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("stored"))

    def close(self) -> None:
        """Does nothing."""

    def _scene(self, ctx: Any, value: Any = None, timer: int | None = None) -> Scene:
        return Scene(ctx, value, timer, self._state, self.has_broadcast)

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


class ScriptedProcess(_ScriptedFunction, KeyedProcessFunction):
    """A function of a keyed stream."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._element("element", value, ctx)


class ScriptedCoProcess(_ScriptedFunction, KeyedCoProcessFunction):
    """A function of two keyed streams. The section `element` applies to both inputs."""

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield from self._run("input1", self._scene(ctx, value))
        yield from self._element("element", value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield from self._run("input2", self._scene(ctx, value))
        yield from self._element("element", value, ctx)


class ScriptedBroadcast(_ScriptedFunction, BroadcastProcessFunction):
    """A function of a stream without keys and a broadcast stream."""

    has_broadcast = True

    def open(self, runtime_context: RuntimeContext) -> None:
        """Does nothing, because there is no keyed state."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._run("element", self._scene(ctx, value))

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._run("broadcast", self._scene(ctx, value))


class ScriptedKeyedBroadcast(_ScriptedFunction, KeyedBroadcastProcessFunction):
    """A function of a keyed stream and a broadcast stream."""

    has_broadcast = True

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._element("element", value, ctx)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._run("broadcast", self._scene(ctx, value))
