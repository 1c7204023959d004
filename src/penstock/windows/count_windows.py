"""Windows of so many elements."""

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
class _Counting(WindowAssigner[Any, CountWindow]):
    """Counts the elements of a key. A window never gets an element after the one that fills it, so it is emptied when it fires."""

    state_name: ClassVar[str]

    window_size: int

    def __post_init__(self) -> None:
        if self.window_size <= 0:
            raise PlanError(
                "WINDOW_COUNT",
                f"A count window has a size of {self.window_size}; it must be positive. "
                "Give the number of elements that make a window.",
            )

    def counted(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """How many elements came before this one; counts it."""
        state = context.get_runtime_context().get_state(ValueStateDescriptor(self.state_name, Types.LONG()))
        before: int = state.value() or 0
        state.update(before + 1)
        return before

    def get_default_trigger(self, env: Any = None) -> PurgingTrigger:
        return PurgingTrigger(CountTrigger(self.window_size))

    def is_event_time(self) -> bool:
        return False


class CountTumblingWindowAssigner(_Counting):
    """The first `window_size` elements of a key, the next ones, and so on.

    >>> CountTumblingWindowAssigner.of(3).get_default_trigger().nested_trigger
    CountTrigger(window_size=3)
    """

    __slots__ = ()
    state_name = "tumble-count-assigner"

    @classmethod
    def of(cls, window_size: int) -> CountTumblingWindowAssigner:
        return cls(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        return [CountWindow(self.counted(context) // self.window_size)]


@dataclass(frozen=True, slots=True)
class CountSlidingWindowAssigner(_Counting):
    """Windows of `window_size` elements of a key; one starts with every `window_slide`-th element.

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
                f"A count window has a slide of {self.window_slide}; it must be positive. "
                "Give the number of elements between the starts of two windows.",
            )

    @classmethod
    def of(cls, window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        return cls(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        before, size, slide = self.counted(context), self.window_size, self.window_slide
        first = max(0, (before - size) // slide + 1)
        return [CountWindow(number) for number in range(before // slide, first - 1, -1)]
