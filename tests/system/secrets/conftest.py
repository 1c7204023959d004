"""Removes the secrets of each test, so that later tests in the same process do not redact them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock import redaction


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(redaction, "_known", {})
        patched.setattr(redaction, "_pattern", None)
        yield
