"""How an asynchronous function is called, as a description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.functions.async_retry import AsyncRetryStrategy


@dataclass(frozen=True, slots=True)
class AsyncSettings:
    """Bounds of the calls of one function in one subtask."""

    timeout: int  # milliseconds, of all attempts together
    capacity: int  # calls under way at once
    retry: AsyncRetryStrategy[Any]

    def __str__(self) -> str:
        return f"at most {self.capacity} calls at once, each within {self.timeout} ms"
