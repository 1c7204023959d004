"""Functions that make state of rows, as Flink's State Processor API has them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.errors import StateError
from penstock.functions.context import TimerService
from penstock.functions.function import Function
from penstock.runtime.operator import OperatorContext, SubtaskContext
from penstock.state import BroadcastState, MapStateDescriptor
from penstock.state_processor.given import Columns, Rows, rows_of
from penstock.state_processor.image import OperatorImage
from penstock.time import MIN_WATERMARK

K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")


class KeyedBootstrapContext(ABC):
    """What a keyed bootstrap function may ask for."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the row."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Registers timers of the key."""


class BroadcastBootstrapContext(ABC):
    """What a broadcast bootstrap function may ask for."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """The broadcast state of a descriptor."""


class KeyedStateBootstrapFunction(Function, ABC, Generic[K, IN]):
    """Writes the keyed state and the timers that an operator is to start with."""

    @abstractmethod
    def process_element(self, value: IN, ctx: KeyedBootstrapContext) -> None:
        """Called with each row; state and timers are those of its key."""


class BroadcastStateBootstrapFunction(Function, ABC, Generic[IN]):
    """Writes the broadcast state that an operator is to start with."""

    @abstractmethod
    def process_element(self, value: IN, ctx: BroadcastBootstrapContext) -> None:
        """Called with each row."""


class BootstrapTransformation:
    """Rows, and the function that makes state of them."""

    def __init__(
        self, source: Rows, key: Columns | None, key_of: Callable[[Any], Any] | None, function: Function
    ) -> None:
        self.source = source
        self.key = [] if key is None else [key] if isinstance(key, str) else list(key)
        self._key_of = key_of
        self._function = function

    def fill(self, image: OperatorImage, data: Rows) -> None:
        """Calls the function with all rows."""
        rows = data if self._key_of is not None else rows_of(data)[0]
        context = _Context(image)
        runtime = _runtime(image)
        self._function.open(runtime)
        try:
            for number, row in enumerate(rows, 1):
                if isinstance(self._function, KeyedStateBootstrapFunction):
                    image.backend.set_key(self._key(row))
                self._function.process_element(row, context)  # type: ignore[attr-defined]
                if number % 20_000 == 0:
                    image.flush()
            image.flush()
        finally:
            self._function.close()

    def _key(self, row: Any) -> Any:
        if self._key_of is not None:
            return self._key_of(row)
        return row[self.key[0]] if len(self.key) == 1 else tuple(row[c] for c in self.key)


class OneInputOperatorTransformation:
    """Rows for an operator; `transform` says what becomes of them."""

    def __init__(self, data: Rows, key: Columns | None = None, key_of: Callable[[Any], Any] | None = None) -> None:
        self._data = data
        self._key = key
        self._key_of = key_of

    def key_by(self, key: Columns | Callable[[Any], Any]) -> OneInputOperatorTransformation:
        """By a column, several columns (a tuple), or what a function takes from a row."""
        if callable(key):
            return OneInputOperatorTransformation(self._data, None, key)
        return OneInputOperatorTransformation(self._data, key)

    def transform(self, function: Function) -> BootstrapTransformation:
        """The state that a function makes of the rows."""
        keyed = isinstance(function, KeyedStateBootstrapFunction)
        if keyed and self._key is None and self._key_of is None:
            raise StateError(
                "BOOTSTRAP_WITHOUT_KEY",
                f"{type(function).__name__} writes keyed state: call key_by() before transform().",
            )
        if not keyed and not isinstance(function, BroadcastStateBootstrapFunction):
            raise StateError(
                "BOOTSTRAP_FUNCTION",
                f"transform() got {function!r}; it takes a KeyedStateBootstrapFunction or a BroadcastStateBootstrapFunction.",
            )
        return BootstrapTransformation(self._data, self._key, self._key_of, function)


class OperatorTransformation:
    """Where the state of a new operator begins."""

    @staticmethod
    def bootstrap_with(data: Rows) -> OneInputOperatorTransformation:
        """From rows: an Arrow table, a pandas or Spark frame (rows are dicts), or any iterable."""
        return OneInputOperatorTransformation(data)


class _Context(KeyedBootstrapContext, BroadcastBootstrapContext):
    def __init__(self, image: OperatorImage) -> None:
        self._image = image
        timers = image.timers
        self._inner = OperatorContext(image.backend, timers["event"], timers["processing"], _runtime(image))
        self._inner.begin_batch(0, image.now)
        self._inner.watermark = MIN_WATERMARK

    def get_current_key(self) -> Any:
        return self._inner.get_current_key()

    def timer_service(self) -> TimerService:
        return self._inner.timer_service()

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        handle: BroadcastState[K, V] = self._image.handle(state_descriptor, "slot")
        return handle


def _runtime(image: OperatorImage) -> SubtaskContext:
    return SubtaskContext(
        uid=image.uid,
        name=image.uid,
        index=0,
        parallelism=1,
        max_parallelism=1,
        parameters={},
        backend=image.backend,
    )
