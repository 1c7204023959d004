"""Functions that tests use as lookup tables."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa

_NAMES = {1: "Ann", 2: "Bob"}


def users(keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": key["id"], "name": _NAMES[key["id"]]} for key in keys if key["id"] in _NAMES]


async def users_later(keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    await asyncio.sleep(0)
    return users(keys)


async def never(keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    await asyncio.sleep(60)
    return []


def all_users(keys: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return list(_NAMES.items())


def users_as_arrow(keys: list[dict[str, Any]]) -> pa.Table:
    return pa.table({"name": list(_NAMES.values()), "id": list(_NAMES)})


def wrong_type(keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": "one", "name": "Ann"}]


def no_rows(keys: list[dict[str, Any]]) -> int:
    return 7


def no_key(keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": "Ann"}]


def fails(keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    raise KeyError("users")


NOT_A_FUNCTION = 3
