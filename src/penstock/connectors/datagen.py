"""A source of generated rows with random or sequential fields, at a given rate."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.atomic_file import write_atomic
from penstock.connectors.collection import DataGeneratorSource
from penstock.connectors.source import Chunk, Offset
from penstock.errors import ConfigError
from penstock.row import make_row
from penstock.types import TypeInformation, Types
from penstock.types.basic import RANGES, BasicType

_ROWS_PER_SECOND = 10_000
_STRING_LENGTH = 100
_CHUNK_SIZE = 50_000  # rows
_BLOCK = 256  # rows that share a random number generator, because seeding one takes longer than generating a row
_LARGEST = {BasicType.FLOAT: 3.4028234663852886e38, BasicType.DOUBLE: 1.7976931348623157e308}
_SMALLEST = {BasicType.FLOAT: 1.401298464324817e-45, BasicType.DOUBLE: 5e-324}


@dataclass(frozen=True)
class RandomField:
    """Random values of a basic type: numbers from `low` to `high`, strings of `length` hexadecimal digits, or booleans.

    >>> RandomField(BasicType.INT, 1, 1).value(random.Random(0), 7)
    1
    """

    kind: BasicType
    low: float | None = None
    high: float | None = None
    length: int = _STRING_LENGTH
    null_rate: float = 0.0

    def value(self, chance: random.Random, number: int) -> Any:
        """Returns the field value of the row with this number."""
        if self.null_rate and chance.random() < self.null_rate:
            return None
        if self.kind is BasicType.STRING:
            return f"{chance.getrandbits(4 * self.length):0{self.length}x}" if self.length else ""
        if self.kind is BasicType.BOOLEAN:
            return chance.random() < 0.5
        if self.kind in RANGES:
            low, high = RANGES[self.kind]
            return chance.randint(
                low if self.low is None else int(self.low), high if self.high is None else int(self.high)
            )
        low_real = _SMALLEST[self.kind] if self.low is None else self.low
        high_real = _LARGEST[self.kind] if self.high is None else self.high
        return low_real + (high_real - low_real) * chance.random()


@dataclass(frozen=True)
class SequenceField:
    """All numbers from `start` to `end`, both inclusive. The source ends with the last one.

    >>> SequenceField(5, 9).value(random.Random(), 2)
    7
    """

    start: int
    end: int
    kind: BasicType = BasicType.LONG

    def value(self, chance: random.Random, number: int) -> int:
        """Returns the field value of the row with this number."""
        return self.start + number

    @property
    def count(self) -> int:
        """The number of values."""
        return self.end - self.start + 1


Field = RandomField | SequenceField


class DataGenSource(DataGeneratorSource):
    """Emits generated rows with the given fields.

    A row depends only on its number and on a seed that is stored with the checkpoint, so a batch that runs again reads the same
    rows.

    >>> source = DataGenSource({"n": SequenceField(1, 3), "word": RandomField(BasicType.STRING, length=4)}, seed=1)
    >>> [row.n for row in next(source.read((0, 3, 1))).values]
    [1, 2, 3]
    """

    def __init__(
        self,
        fields: Mapping[str, Field],
        rows_per_second: int = _ROWS_PER_SECOND,
        number_of_rows: int | None = None,
        seed: int | None = None,
    ) -> None:
        counts = [f.count for f in fields.values() if isinstance(f, SequenceField)]
        counts += [] if number_of_rows is None else [number_of_rows]
        super().__init__(int, min(counts) if counts else None, rows_per_second)
        self._fields = dict(fields)
        self._seed = random.getrandbits(63) if seed is None else seed
        self._seed_file = ""
        for name, field in fields.items():
            _check(name, field)

    def row_type(self) -> TypeInformation:
        """Returns the type of the rows."""
        return Types.ROW_NAMED(list(self._fields), [_type(f.kind) for f in self._fields.values()])

    def attach(self, folder: str) -> None:
        self._seed_file = os.path.join(folder, "seed.json")
        if not os.path.exists(self._seed_file):
            self._store_seed()
        with open(self._seed_file, encoding="utf-8") as file:
            self._seed = json.load(file)

    def _store_seed(self) -> None:
        write_atomic(self._seed_file, json.dumps(self._seed).encode(), durable=True)

    def position(self, offset: Offset) -> Offset:
        return {**offset, "seed": self._seed}

    def restored(self, position: Offset) -> Offset:
        """Converts a position to an offset. Restores the seed, so that the rows continue as in the first job."""
        self._seed = position.get("seed", self._seed)
        self._store_seed()
        return {name: value for name, value in position.items() if name != "seed"}

    def latest(self, start: Offset) -> Offset:
        if self._began is None:
            self._began = (
                time.monotonic() - 1,
                start["n"],
            )  # emits the rows of the first second immediately, like Flink
        return super().latest(start)

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        return [(low, high, self._seed) for low, high in super().plan(start, end, parallelism)]

    def read(self, task: Any) -> Iterator[Chunk]:
        low, high, seed = task
        names, fields = list(self._fields), list(self._fields.values())
        rows: list[Any] = []
        for block in range(low // _BLOCK, -(-high // _BLOCK)):
            chance = random.Random(seed << 64 | block)
            for number in range(block * _BLOCK, min(high, (block + 1) * _BLOCK)):
                row = make_row(names, [f.value(chance, number) for f in fields])
                if number >= low:
                    rows.append(row)
            if len(rows) >= _CHUNK_SIZE:
                yield Chunk("0", low, rows)
                low, rows = low + len(rows), []
        if rows:
            yield Chunk("0", low, rows)


def _type(kind: BasicType) -> TypeInformation:
    type_info: TypeInformation = getattr(Types, kind.name)()
    return type_info


def _check(name: str, field: Field) -> None:
    if isinstance(field, SequenceField):
        low, high = float(field.start), float(field.end)
    else:
        ends = RANGES.get(field.kind, (_SMALLEST.get(field.kind, 0.0), _LARGEST.get(field.kind, 0.0)))
        low = ends[0] if field.low is None else field.low
        high = ends[1] if field.high is None else field.high
        if not 0 <= field.null_rate <= 1 or field.length < 0:
            raise ConfigError(
                "GENERATED_FIELD",
                f"Field '{name}' has null rate {field.null_rate} and length {field.length}. The rate must be from 0 to 1, and the "
                "length must not be negative.",
            )
    if low > high:
        raise ConfigError(
            "GENERATED_FIELD",
            f"Field '{name}' has values from {low} to {high}. The first number must not be larger than the second.",
        )
