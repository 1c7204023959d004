"""What tests hide here is not hidden from the tests that come after them in the same process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock import redaction


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as kept:
        kept.setattr(redaction, "_known", {})
        kept.setattr(redaction, "_pattern", None)
        yield
