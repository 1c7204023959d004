"""What a batch remembers of windows, so that most elements need no state, timer or trigger."""

from __future__ import annotations

from typing import Any

from penstock.errors import PlanError
from penstock.runtime.lateness import cleanup_time
from penstock.runtime.window_set import Namespace
from penstock.time import MIN_WATERMARK
from penstock.windows import Window, WindowAssigner
from penstock.windows.assigner import window_type_of


class KnownWindow:
    """What follows from a window, and those of its panes that this batch has added to."""

    __slots__ = ("cleanup", "fires", "namespace", "panes", "window")

    def __init__(self, window: Window, namespace: Namespace, lateness: int) -> None:
        self.window = window
        self.namespace = namespace
        self.fires = window.max_timestamp()
        self.cleanup = cleanup_time(self.fires, lateness)
        self.panes: dict[Any, Any] = {}  # by key: loaded, marked as changed, their timers set


class Slice:
    """A stretch of time whose elements all belong to the same windows."""

    __slots__ = ("end", "fires", "start", "windows")

    def __init__(self, start: int, end: int, windows: list[KnownWindow]) -> None:
        self.start = start
        self.end = end
        self.windows = windows
        self.fires = min((w.fires for w in windows), default=MIN_WATERMARK)


class KnownWindows:
    """The windows and slices that a batch has met."""

    def __init__(self, assigner: WindowAssigner[Any, Any], lateness: int) -> None:
        self._assigner = assigner
        self._lateness = lateness
        self._type = window_type_of(assigner)
        self._width, self._offset = assigner.grid() or (1, 0)
        self._windows: dict[Namespace, KnownWindow] = {}
        self._slices: dict[int, Slice] = {}
        self.slice = Slice(0, 0, [])  # the one met last

    def of(self, window: Window) -> KnownWindow:
        namespace = window.namespace()
        known = self._windows.get(namespace)
        if known is None:
            self.check(window)
            known = self._windows[namespace] = KnownWindow(window, namespace, self._lateness)
        return known

    def check(self, window: Window) -> None:
        """Refuses a window of another class than the assigner is known for."""
        if type(window) is not self._type:
            assigner, kind = type(self._assigner).__name__, type(window).__name__
            raise PlanError(
                "WINDOW_TYPE",
                f"{assigner} gave the window {window!r}, and its windows are known as {self._type.__name__}: such a window could "
                f"not be found again. Write `class {assigner}(WindowAssigner[..., {kind}])`, or set window_type = {kind} in it.",
            )

    def named(self, namespace: Namespace) -> KnownWindow:
        """The window of a namespace; not remembered if it was not met before."""
        known = self._windows.get(namespace)
        return known or KnownWindow(self._type(*namespace), namespace, self._lateness)

    def enter(self, value: Any, time: int, timestamp: int, context: Any) -> Slice:
        """The slice of a time, of windows that stand on a grid."""
        start = time - (time - self._offset) % self._width
        known = self._slices.get(start)
        if known is None:
            windows = self._assigner.assign_windows(value, timestamp, context)
            known = self._slices[start] = Slice(start, start + self._width, [self.of(w) for w in windows])
        self.slice = known
        return known
