"""The statements of scripted functions. A statement is executed with the data of one call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.functions import OutputTag, TimeDomain
from penstock.state import MapStateDescriptor

EVENT, PROCESSING = "event", "processing"
ENTRIES = MapStateDescriptor("entries")


@dataclass(slots=True)
class Scene:
    """The data of one call of a function."""

    ctx: Any
    value: Any = None
    timer: int | None = None
    state: Any = None  # the value state of the key
    broadcast: bool = False  # the function has a broadcast input

    def look_up(self, name: str) -> Any:
        clock = self.ctx if self.broadcast else self.ctx.timer_service()
        match name:
            case "value":
                return self.value
            case "timer":
                return self.timer
            case "timestamp":
                return self.ctx.timestamp()
            case "watermark":
                return clock.current_watermark()
            case "now":
                return clock.current_processing_time()
            case "key":
                return self.ctx.get_current_key()
            case "state":
                return self.state.value()
            case "field0" | "field1":
                return self.value[int(name[-1])]
            case _:
                return self.domain()

    def domain(self) -> str:
        return EVENT if self.ctx.time_domain() == TimeDomain.EVENT_TIME else PROCESSING


# -- values


@dataclass(frozen=True)
class Literal:
    value: Any

    def of(self, scene: Scene) -> Any:
        return self.value


@dataclass(frozen=True)
class Variable:
    name: str

    def of(self, scene: Scene) -> Any:
        return scene.look_up(self.name)


@dataclass(frozen=True)
class Template:
    """A text with placeholders. Missing values are formatted as `null`."""

    parts: tuple[Literal | Variable, ...]

    def of(self, scene: Scene) -> str:
        values = (part.of(scene) for part in self.parts)
        return "".join("null" if value is None else str(value) for value in values)


@dataclass(frozen=True)
class Choice:
    """A value that depends on the time domain of the timer."""

    event: Any
    processing: Any

    def of(self, scene: Scene) -> Any:
        return (self.event if scene.domain() == EVENT else self.processing).of(scene)


@dataclass(frozen=True)
class Time:
    """A fixed time, or a time relative to a variable."""

    base: Variable | None
    after: int

    def of(self, scene: Scene) -> int:
        return self.after + (0 if self.base is None else int(self.base.of(scene)))


# -- statements


class Statement(Protocol):
    """Executes an action and returns the emitted elements."""

    def run(self, scene: Scene) -> Iterable[Any]: ...


@dataclass(frozen=True)
class Emit:
    what: Any
    tag: str | None = None

    def run(self, scene: Scene) -> Iterable[Any]:
        value = self.what.of(scene)
        return [value if self.tag is None else (OutputTag(self.tag), value)]


@dataclass(frozen=True)
class EmitEntries:
    """Emits the broadcast state, optionally with a named value."""

    name: str = ""
    beside: Variable | None = None

    def run(self, scene: Scene) -> Iterable[Any]:
        entries = dict(sorted(scene.ctx.get_broadcast_state(ENTRIES).items()))
        return [entries if self.beside is None else {self.name: self.beside.of(scene), "entries": entries}]


@dataclass(frozen=True)
class Timer:
    domain: str
    time: Time
    delete: bool = False

    def run(self, scene: Scene) -> Iterable[Any]:
        timers = scene.ctx.timer_service()
        time = self.time.of(scene)
        if self.domain == EVENT:
            (timers.delete_event_time_timer if self.delete else timers.register_event_time_timer)(time)
        else:
            (timers.delete_processing_time_timer if self.delete else timers.register_processing_time_timer)(time)
        return ()


@dataclass(frozen=True)
class Store:
    what: Any

    def run(self, scene: Scene) -> Iterable[Any]:
        scene.state.update(self.what.of(scene))
        return ()


@dataclass(frozen=True)
class Clear:
    broadcast: bool = False

    def run(self, scene: Scene) -> Iterable[Any]:
        (scene.ctx.get_broadcast_state(ENTRIES) if self.broadcast else scene.state).clear()
        return ()


@dataclass(frozen=True)
class Put:
    key: Any
    what: Any

    def run(self, scene: Scene) -> Iterable[Any]:
        scene.ctx.get_broadcast_state(ENTRIES).put(self.key.of(scene), self.what.of(scene))
        return ()


@dataclass(frozen=True)
class Remove:
    key: Any

    def run(self, scene: Scene) -> Iterable[Any]:
        scene.ctx.get_broadcast_state(ENTRIES).remove(self.key.of(scene))
        return ()


@dataclass(frozen=True)
class Check:
    """Fails the job if two values are not equal."""

    one: Any
    other: Any

    def run(self, scene: Scene) -> Iterable[Any]:
        one, other = self.one.of(scene), self.other.of(scene)
        if one != other:
            raise AssertionError(f"{one!r} is not {other!r}")
        return ()


@dataclass(frozen=True)
class ReadEntries:
    """Reads the broadcast state. Fails the job if the number of entries is not as expected."""

    count: int | None

    def run(self, scene: Scene) -> Iterable[Any]:
        found = list(scene.ctx.get_broadcast_state(ENTRIES).items())
        if self.count is not None and len(found) != self.count:
            raise AssertionError(f"{self.count} entries of broadcast state were expected, found {found}")
        return ()
