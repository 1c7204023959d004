"""Settings of asynchronous calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.functions.async_retry import AsyncRetryStrategy


@dataclass(frozen=True, slots=True)
class AsyncSettings:
    """Limits for the calls of one function in one subtask."""

    timeout: int  # milliseconds for all attempts of a call
    capacity: int  # concurrent calls
    retry: AsyncRetryStrategy[Any]

    def __str__(self) -> str:
        return f"at most {self.capacity} calls at once, each within {self.timeout} ms"
