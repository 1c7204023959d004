"""Windows of a fixed number of elements."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.errors import PlanError
from penstock.state import ValueStateDescriptor
from penstock.types import Types
from penstock.windows.assigner import WindowAssigner
from penstock.windows.count_trigger import CountTrigger
from penstock.windows.purging_trigger import PurgingTrigger
from penstock.windows.window import CountWindow


@dataclass(frozen=True, slots=True)
class _CountWindowAssigner(WindowAssigner[Any, CountWindow]):
    """Counts the elements of a key. A full window never receives another element, so it is purged when it fires."""

    state_name: ClassVar[str]

    window_size: int

    def __post_init__(self) -> None:
        if self.window_size <= 0:
            raise PlanError(
                "WINDOW_COUNT",
                f"A count window has a size of {self.window_size}, but it must be positive. "
                "Pass the number of elements of a window.",
            )

    def _count_element(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """Counts an element. Returns the number of elements before it."""
        state = context.get_runtime_context().get_state(ValueStateDescriptor(self.state_name, Types.LONG()))
        before: int = state.value() or 0
        state.update(before + 1)
        return before

    def get_default_trigger(self, env: Any = None) -> PurgingTrigger:
        return PurgingTrigger(CountTrigger(self.window_size))

    def is_event_time(self) -> bool:
        return False


class CountTumblingWindowAssigner(_CountWindowAssigner):
    """Assigns every `window_size` consecutive elements of a key to one window.

    >>> CountTumblingWindowAssigner.of(3).get_default_trigger().nested_trigger
    CountTrigger(window_size=3)
    """

    __slots__ = ()
    state_name = "tumble-count-assigner"

    @classmethod
    def of(cls, window_size: int) -> CountTumblingWindowAssigner:
        """Returns an assigner of windows with `window_size` elements."""
        return cls(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        return [CountWindow(self._count_element(context) // self.window_size)]


@dataclass(frozen=True, slots=True)
class CountSlidingWindowAssigner(_CountWindowAssigner):
    """Assigns elements to windows of `window_size` elements per key. A window starts every `window_slide` elements.

    >>> CountSlidingWindowAssigner.of(10, 2).window_slide
    2
    """

    state_name: ClassVar[str] = "slide-count-assigner"

    window_slide: int

    def __post_init__(self) -> None:
        super(CountSlidingWindowAssigner, self).__post_init__()
        if self.window_slide <= 0:
            raise PlanError(
                "WINDOW_COUNT",
                f"A count window has a slide of {self.window_slide}, but it must be positive. "
                "Pass the number of elements between the starts of two windows.",
            )

    @classmethod
    def of(cls, window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Returns an assigner of windows with `window_size` elements that start every `window_slide` elements."""
        return cls(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        before, size, slide = self._count_element(context), self.window_size, self.window_slide
        first = max(0, (before - size) // slide + 1)
        return [CountWindow(number) for number in range(before // slide, first - 1, -1)]
