"""Spark's map of the state of a slot, as a dict."""

from __future__ import annotations


class DictStore:
    """Implements `KeyValueStore` over a dict."""

    def __init__(self, entries: dict[str, bytes]) -> None:
        self._entries = entries

    def get(self, key: str) -> bytes | None:
        return self._entries.get(key)

    def put(self, key: str, value: bytes) -> None:
        self._entries[key] = value

    def remove(self, key: str) -> None:
        self._entries.pop(key, None)
