"""Bootstrap functions that create state from rows, as in Flink's State Processor API."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.errors import StateError
from penstock.functions.context import TimerService
from penstock.functions.function import Function
from penstock.runtime.loop.operator import FunctionRuntimeContext, OperatorContext
from penstock.state import BroadcastState, MapStateDescriptor
from penstock.state_processor.image import OperatorImage
from penstock.state_processor.input_rows import Columns, Rows, iterate_rows
from penstock.time import MIN_WATERMARK

K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")


class KeyedBootstrapContext(ABC):
    """The context of a keyed bootstrap function."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """Returns the key of the current row."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Returns the timer service of the current key."""


class BroadcastBootstrapContext(ABC):
    """The context of a broadcast bootstrap function."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """Returns the broadcast state of a descriptor."""


class KeyedStateBootstrapFunction(Function, ABC, Generic[K, IN]):
    """Writes the initial keyed state and timers of an operator."""

    @abstractmethod
    def process_element(self, value: IN, ctx: KeyedBootstrapContext) -> None:
        """Called for each row. State and timers are those of the key of the row."""


class BroadcastStateBootstrapFunction(Function, ABC, Generic[IN]):
    """Writes the initial broadcast state of an operator."""

    @abstractmethod
    def process_element(self, value: IN, ctx: BroadcastBootstrapContext) -> None:
        """Called for each row."""


class BootstrapTransformation:
    """Rows, and the function that creates state from them."""

    def __init__(
        self, source: Rows, key: Columns | None, key_of: Callable[[Any], Any] | None, function: Function
    ) -> None:
        self.source = source
        self.key = [] if key is None else [key] if isinstance(key, str) else list(key)
        self._key_of = key_of
        self._function = function

    def fill(self, image: OperatorImage, data: Rows) -> None:
        """Calls the function for all rows."""
        rows = data if self._key_of is not None else iterate_rows(data)[0]
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
    """Rows for an operator. `transform` sets the function that creates state from them."""

    def __init__(self, data: Rows, key: Columns | None = None, key_of: Callable[[Any], Any] | None = None) -> None:
        self._data = data
        self._key = key
        self._key_of = key_of

    def key_by(self, key: Columns | Callable[[Any], Any]) -> OneInputOperatorTransformation:
        """Sets the key of a row: a column, several columns (the key is a tuple), or a function of the row."""
        if callable(key):
            return OneInputOperatorTransformation(self._data, None, key)
        return OneInputOperatorTransformation(self._data, key)

    def transform(self, function: Function) -> BootstrapTransformation:
        """Sets the bootstrap function that creates state from the rows."""
        keyed = isinstance(function, KeyedStateBootstrapFunction)
        if keyed and self._key is None and self._key_of is None:
            raise StateError(
                "BOOTSTRAP_WITHOUT_KEY",
                f"{type(function).__name__} writes keyed state. Call key_by() before transform().",
            )
        if not keyed and not isinstance(function, BroadcastStateBootstrapFunction):
            raise StateError(
                "BOOTSTRAP_FUNCTION",
                f"transform() got {function!r}. It accepts a KeyedStateBootstrapFunction or a BroadcastStateBootstrapFunction.",
            )
        return BootstrapTransformation(self._data, self._key, self._key_of, function)


class OperatorTransformation:
    """The entry point for the state of a new operator."""

    @staticmethod
    def bootstrap_with(data: Rows) -> OneInputOperatorTransformation:
        """Starts from rows: an Arrow table, a pandas or Spark DataFrame (rows are dicts), or any iterable."""
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


def _runtime(image: OperatorImage) -> FunctionRuntimeContext:
    return FunctionRuntimeContext(
        uid=image.uid,
        name=image.uid,
        index=0,
        parallelism=1,
        max_parallelism=1,
        parameters={},
        backend=image.backend,
    )
