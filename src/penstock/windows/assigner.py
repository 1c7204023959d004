"""Base classes of window assigners, which assign elements to windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from penstock.errors import TimeError
from penstock.time import NO_TIMESTAMP
from penstock.windows.serializers import TypeSerializer, make_window_serializer
from penstock.windows.trigger import Trigger
from penstock.windows.window import TimeWindow, Window

T = TypeVar("T")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns elements to windows.

    A custom assigner names the class of its windows as the second type argument, or sets `window_type`.
    """

    __slots__ = ()

    # The class of the windows, called with the values of a namespace. By default, read from WindowAssigner[T, W].
    window_type: ClassVar[type[Window]] = TimeWindow

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "window_type" not in cls.__dict__:
            for base in getattr(cls, "__orig_bases__", ()):
                types = get_args(base)[1:2] if issubclass(get_origin(base) or object, WindowAssigner) else ()
                if types and isinstance(types[0], type) and issubclass(types[0], Window):
                    cls.window_type = types[0]

    class WindowAssignerContext(ABC):
        """The context of an assigner."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Returns the current processing time in milliseconds."""

        @abstractmethod
        def get_runtime_context(self) -> Any:
            """Returns the runtime context of the operator."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Returns the windows of an element. Called for each element. `timestamp` is in milliseconds."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        """Returns the trigger that is used unless the program sets another one. `env` may be None."""

    def get_window_serializer(self) -> TypeSerializer[Any]:
        """Returns the serializer of the windows. It exists for PyFlink assigners, which must implement it."""
        return make_window_serializer(self.window_type)

    @abstractmethod
    def is_event_time(self) -> bool:
        """Returns whether windows end when the watermark passes them. If not, they end in processing time."""

    def grid(self) -> tuple[int, int] | None:
        """Returns the (width, offset) of time slices whose elements belong to the same windows, or None."""
        return None


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows can merge, such as session windows."""

    __slots__ = ()

    class MergeCallback(ABC, Generic[W2]):
        """Receives the windows to merge."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Replaces some windows with one window."""

    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Reports to the callback which windows merge. By default, windows that overlap or touch are merged."""
        TimeWindow.merge_windows(windows, callback)  # type: ignore[arg-type]


def get_window_type(assigner: WindowAssigner[Any, Any]) -> type[Window]:
    """Returns the class of the windows of an assigner.

    >>> from penstock.windows import GlobalWindows
    >>> get_window_type(GlobalWindows.create())
    <class 'penstock.windows.window.GlobalWindow'>
    """
    serializer = assigner.get_window_serializer()
    return getattr(serializer, "window_type", None) or assigner.window_type


def require_timestamp(timestamp: int) -> int:
    """Returns a timestamp, or raises an error that explains how to assign timestamps.

    >>> require_timestamp(5)
    5
    """
    if timestamp == NO_TIMESTAMP:
        raise TimeError(
            "ELEMENT_WITHOUT_TIMESTAMP",
            "An event-time window received an element without a timestamp. Call assign_timestamps_and_watermarks with a "
            "timestamp assigner before key_by, or use processing-time windows.",
        )
    return timestamp
