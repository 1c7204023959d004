"""How a function is defined: its names, the rule that types a call, and the kernel that computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from penstock.runtime.relational.expressions.frame import Session, Value
from penstock.types.logical.kinds import LogicalType


class TypeMismatch(Exception):  # noqa: N818 - the binder turns it into an error with a position
    """The arguments of a call do not fit the function."""

    def __init__(self, expected: str, argument: int | None = None) -> None:
        super().__init__(expected)
        self.expected = expected
        self.argument = argument


class Typing:
    """A call while its type is derived. A rule reads the types, may convert arguments, and returns the type of the result."""

    def __init__(self, types: Sequence[LogicalType], literals: Sequence[Any], options: tuple[Any, ...] = ()) -> None:
        self.types = list(types)
        self.literals = literals  # the value of a literal argument, MISSING for other expressions
        self.options = options
        self.casts: dict[int, LogicalType] = {}

    def __len__(self) -> int:
        return len(self.types)

    @property
    def any_nullable(self) -> bool:
        return any(t.nullable for t in self.types)

    def cast(self, position: int, type_: LogicalType) -> None:
        """Converts an argument to a type; its nullability stays."""
        wanted = type_.with_nullable(self.types[position].nullable)
        if self.types[position] != wanted:
            self.casts[position] = wanted
            self.types[position] = wanted

    def refuse(self, expected: str, argument: int | None = None) -> NoReturn:
        raise TypeMismatch(expected, argument)


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
TypeRule = Callable[[Typing], LogicalType]


@dataclass(frozen=True)
class CallContext:
    """What a kernel may need besides its arguments."""

    type: LogicalType
    argument_types: tuple[LogicalType, ...]
    options: tuple[Any, ...]
    length: int
    session: Session
    clock: Callable[[], int] | None = None

    def now(self) -> int:
        """Returns the current time in milliseconds. It is the same for all calls on the same rows."""
        return self.session.now() if self.clock is None else self.clock()


Kernel = Callable[..., Value]


@dataclass(frozen=True)
class Function:
    """A scalar function."""

    name: str
    rule: TypeRule
    kernel: Kernel
    signatures: tuple[str, ...] = ()  # for messages and documentation: "UPPER(text)"
    documentation: str = ""
    family: str = ""
    aliases: tuple[str, ...] = ()
    raises: bool | Callable[[Sequence[LogicalType], LogicalType], bool] = (
        False  # may fail for some rows: branches are guarded
    )
    deterministic: bool | Callable[[int], bool] = True  # or by the number of arguments
    by_value: bool = False

    def is_deterministic(self, arguments: int) -> bool:
        """Whether a call with this number of arguments has the same result each time."""
        return self.deterministic(arguments) if callable(self.deterministic) else self.deterministic

    def can_raise(self, arguments: Sequence[LogicalType], result: LogicalType) -> bool:
        """Whether a call with arguments of these types may fail for some rows."""
        return self.raises(arguments, result) if callable(self.raises) else self.raises


FUNCTIONS: dict[str, Function] = {}


def register(function: Function) -> Function:
    """Adds a function under all its names."""
    for name in (function.name, *function.aliases):
        if name in FUNCTIONS:
            raise ValueError(f"function {name} is defined twice")
        FUNCTIONS[name] = function
    return function
