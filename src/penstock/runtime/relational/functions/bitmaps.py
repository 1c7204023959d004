"""Sets of integers of 32 bits, which are unsigned in order."""

from __future__ import annotations

import struct
from collections.abc import Callable

from penstock.runtime.relational.functions.definition import Typing
from penstock.runtime.relational.functions.kernels import Family
from penstock.runtime.relational.functions.signatures import nullable_if_any, takes, text
from penstock.types.logical.kinds import BIGINT, BYTES, INT, ArrayType, BitmapType, LogicalType

_family = Family("bitmap")
_BITMAP = nullable_if_any(BitmapType())
_NO_RUNS = 12346


def _signed(value: int) -> int:
    return value - (1 << 32) if value >= 1 << 31 else value


def _built(call: Typing) -> LogicalType:
    first = call.types[0]
    if len(call) != 1 or not isinstance(first, ArrayType) or first.element.with_nullable(True) != INT:
        call.refuse("BITMAP_BUILD(ARRAY<INT>)")
    return BitmapType(nullable=first.nullable)


@_family.values("BITMAP_BUILD", _built, "the bitmap of the integers in an array")
def bitmap_build(values: list[int | None]) -> list[int]:
    return sorted({v & 0xFFFFFFFF for v in values if v is not None})


def _operation(name: str, function: Callable[[set[int], set[int]], set[int]], documentation: str) -> None:
    rule = takes("bitmap, bitmap", returns=_BITMAP)
    _family.values(name, rule, documentation)(lambda a, b: sorted(function(set(a), set(b))))


_operation("BITMAP_AND", set.intersection, "the integers in both bitmaps")
_operation("BITMAP_OR", set.union, "the integers in one of the bitmaps")
_operation("BITMAP_XOR", set.symmetric_difference, "the integers in just one of the bitmaps")
_operation("BITMAP_ANDNOT", set.difference, "the integers of the first bitmap that are not in the second")


@_family.values("BITMAP_CARDINALITY", takes("bitmap", returns=nullable_if_any(BIGINT)), "how many integers there are")
def bitmap_cardinality(values: list[int]) -> int:
    return len(values)


@_family.values("BITMAP_TO_ARRAY", takes("bitmap", returns=nullable_if_any(ArrayType(INT))), "the integers as an array")
def bitmap_to_array(values: list[int]) -> list[int]:
    return [_signed(v) for v in values]


@_family.values("BITMAP_TO_STRING", takes("bitmap", returns=text), "the integers as text")
def bitmap_to_string(values: list[int]) -> str:
    return "{" + ",".join(map(str, values)) + "}"


@_family.values(
    "BITMAP_TO_BYTES",
    takes("bitmap", returns=nullable_if_any(BYTES)),
    "the bitmap in the portable format of Roaring bitmaps",
)
def bitmap_to_bytes(values: list[int]) -> bytes:
    containers: dict[int, list[int]] = {}
    for value in values:
        containers.setdefault(value >> 16, []).append(value & 0xFFFF)
    header = struct.pack("<II", _NO_RUNS, len(containers))
    keys = b"".join(struct.pack("<HH", key, len(low) - 1) for key, low in sorted(containers.items()))
    offset = len(header) + len(keys) + 4 * len(containers)
    offsets, bodies = [], []
    for _, low in sorted(containers.items()):
        if len(low) <= 4096:
            body = struct.pack(f"<{len(low)}H", *low)
        else:
            bits = bytearray(8192)
            for value in low:
                bits[value >> 3] |= 1 << (value & 7)
            body = bytes(bits)
        offsets.append(struct.pack("<I", offset))
        bodies.append(body)
        offset += len(body)
    return header + keys + b"".join(offsets) + b"".join(bodies)


@_family.values(
    "BITMAP_FROM_BYTES",
    takes("binary", returns=_BITMAP),
    "the bitmap of bytes in the portable format of Roaring bitmaps",
)
def bitmap_from_bytes(data: bytes) -> list[int]:
    cookie = struct.unpack_from("<I", data)[0]
    runs = b""
    if cookie == _NO_RUNS:
        count, at = struct.unpack_from("<I", data, 4)[0], 8
    else:
        count = (cookie >> 16) + 1
        runs, at = data[4 : 4 + (count + 7) // 8], 4 + (count + 7) // 8
    heads = [struct.unpack_from("<HH", data, at + 4 * i) for i in range(count)]
    at += 4 * count
    if not runs or count >= 4:
        at += 4 * count
    found: list[int] = []
    for index, (key, size) in enumerate(heads):
        base = key << 16
        if runs and runs[index >> 3] >> (index & 7) & 1:
            number = struct.unpack_from("<H", data, at)[0]
            at += 2
            for _ in range(number):
                start, length = struct.unpack_from("<HH", data, at)
                found.extend(base + v for v in range(start, start + length + 1))
                at += 4
        elif size + 1 <= 4096:
            found.extend(base + v for v in struct.unpack_from(f"<{size + 1}H", data, at))
            at += 2 * (size + 1)
        else:
            found.extend(base + i for i in range(65536) if data[at + (i >> 3)] >> (i & 7) & 1)
            at += 8192
    return found
