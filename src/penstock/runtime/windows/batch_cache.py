"""Windows cached for the duration of a batch, so that most elements need no access to state, timers or the trigger."""

from __future__ import annotations

from typing import Any

from penstock.errors import PlanError
from penstock.runtime.loop.lateness import cleanup_time
from penstock.runtime.windows.merging_window_set import Namespace
from penstock.time import MIN_WATERMARK
from penstock.windows import Window, WindowAssigner
from penstock.windows.assigner import get_window_type


class CachedWindow:
    """A window with its derived times and the panes to which this batch has added elements."""

    __slots__ = ("cleanup_time", "max_timestamp", "namespace", "panes", "slices", "window")

    def __init__(self, window: Window, namespace: Namespace, lateness: int) -> None:
        self.window = window
        self.namespace = namespace
        self.max_timestamp = window.max_timestamp()
        self.cleanup_time = cleanup_time(self.max_timestamp, lateness)
        self.panes: dict[Any, Any] = {}  # by key: read from state, marked as changed, timers registered
        self.slices: list[CachedSlice] = []  # those whose elements belong to this window

    def forget_pane(self, key: Any) -> None:
        """Called when the contents of a pane are cleared."""
        self.panes.pop(key, None)
        for cached in self.slices:
            cached.panes.pop(key, None)


class CachedSlice:
    """A range of time whose elements all belong to the same windows."""

    __slots__ = ("end", "first_max_timestamp", "panes", "start", "windows")

    def __init__(self, start: int, end: int, windows: list[CachedWindow]) -> None:
        self.start = start
        self.end = end
        self.windows = windows
        self.panes: dict[Any, list[Any]] = {}  # by key: the panes of all windows
        for window in windows:
            window.slices.append(self)
        self.first_max_timestamp = min((w.max_timestamp for w in windows), default=MIN_WATERMARK)


class WindowCache:
    """The windows and slices that a batch has used so far."""

    def __init__(self, assigner: WindowAssigner[Any, Any], lateness: int) -> None:
        self._assigner = assigner
        self._lateness = lateness
        self._type = get_window_type(assigner)
        self._width, self._offset = assigner.grid() or (1, 0)
        self._windows: dict[Namespace, CachedWindow] = {}
        self._slices: dict[int, CachedSlice] = {}
        self.current_slice = CachedSlice(0, 0, [])  # the slice of the last element

    def get(self, window: Window) -> CachedWindow:
        """Returns the cached form of a window, and caches it if it is new."""
        namespace = window.namespace()
        cached = self._windows.get(namespace)
        if cached is None:
            self.check(window)
            cached = self._windows[namespace] = CachedWindow(window, namespace, self._lateness)
        return cached

    def check(self, window: Window) -> None:
        """Raises WINDOW_TYPE if the class of a window is not the window type of the assigner."""
        if type(window) is not self._type:
            assigner, kind = type(self._assigner).__name__, type(window).__name__
            raise PlanError(
                "WINDOW_TYPE",
                f"{assigner} assigned the window {window!r}, but its window type is {self._type.__name__}. A window of another "
                f"class cannot be restored from state. Write `class {assigner}(WindowAssigner[..., {kind}])`, or set "
                f"window_type = {kind} in it.",
            )

    def from_namespace(self, namespace: Namespace) -> CachedWindow:
        """Returns the window of a namespace. A window that is not in the cache is not added to it."""
        cached = self._windows.get(namespace)
        return cached or CachedWindow(self._type(*namespace), namespace, self._lateness)

    def enter_slice(self, time: int, value: Any, timestamp: int, context: Any) -> CachedSlice:
        """Makes the slice of a time the current one and returns it. The windows must be on a grid."""
        start = time - (time - self._offset) % self._width
        cached = self._slices.get(start)
        if cached is None:
            windows = self._assigner.assign_windows(value, timestamp, context)
            cached = self._slices[start] = CachedSlice(start, start + self._width, [self.get(w) for w in windows])
        self.current_slice = cached
        return cached
