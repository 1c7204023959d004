"""Which windows an element belongs to: the contract of assigners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from penstock.errors import TimeError
from penstock.time import NO_TIMESTAMP
from penstock.windows.serializers import TypeSerializer, serializer_of
from penstock.windows.trigger import Trigger
from penstock.windows.window import TimeWindow, Window

T = TypeVar("T")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class WindowAssigner(ABC, Generic[T, W]):
    """Gives each element its windows."""

    __slots__ = ()

    # The class of its windows, which is called with a window's namespace. Read from WindowAssigner[T, W] unless given.
    window_type: ClassVar[type[Window]] = TimeWindow

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if "window_type" not in cls.__dict__:
            for base in getattr(cls, "__orig_bases__", ()):
                of = get_args(base)[1:2] if issubclass(get_origin(base) or object, WindowAssigner) else ()
                if of and isinstance(of[0], type) and issubclass(of[0], Window):
                    cls.window_type = of[0]

    class WindowAssignerContext(ABC):
        """What an assigner may look at."""

        @abstractmethod
        def get_current_processing_time(self) -> int: ...

        @abstractmethod
        def get_runtime_context(self) -> Any: ...

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]: ...

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        """The trigger of its windows, unless the program sets another. `env` is the environment, where one is at hand."""

    def get_window_serializer(self) -> TypeSerializer[Any]:
        """How its windows are written as bytes: as PyFlink's assigners do, which must have this method."""
        return serializer_of(self.window_type)

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows are closed by the watermark; else by the batch clock."""

    def grid(self) -> tuple[int, int] | None:
        """The (width, offset) of slices of time whose elements belong to the same windows; None if there are none."""
        return None


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows become one when they touch."""

    __slots__ = ()

    class MergeCallback(ABC, Generic[W2]):
        """Is told which windows become one."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None: ...

    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Tells which windows become which. Unless overridden, those that overlap or touch become their cover."""
        TimeWindow.merge_windows(windows, callback)  # type: ignore[arg-type]


def window_type_of(assigner: WindowAssigner[Any, Any]) -> type[Window]:
    """The class of an assigner's windows.

    >>> from penstock.windows import GlobalWindows
    >>> window_type_of(GlobalWindows.create())
    <class 'penstock.windows.window.GlobalWindow'>
    """
    serializer = assigner.get_window_serializer()
    return getattr(serializer, "window_type", None) or assigner.window_type


def event_time_of(timestamp: int) -> int:
    """A timestamp that exists, or an error that says how to give elements one.

    >>> event_time_of(5)
    5
    """
    if timestamp == NO_TIMESTAMP:
        raise TimeError(
            "ELEMENT_WITHOUT_TIMESTAMP",
            "An element without a timestamp came to an event-time window. Call assign_timestamps_and_watermarks with a "
            "timestamp assigner before key_by, or use processing-time windows.",
        )
    return timestamp
