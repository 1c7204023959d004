"""The clock of the event loops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.runtime.async_io.virtual_time import VirtualClock, virtual_time


@pytest.fixture(autouse=True)
def clock(request: pytest.FixtureRequest) -> Iterator[VirtualClock | None]:
    """A virtual clock, so that no call exceeds its timeout because the machine is busy; None in a test with `real_time`."""
    if "real_time" in request.fixturenames:
        yield None
    else:
        with virtual_time() as virtual:
            yield virtual


@pytest.fixture
def real_time() -> None:
    """The event loops of the test use the clock of the machine."""
