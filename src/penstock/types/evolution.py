"""How the type of a state differs from its earlier versions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.errors import StateError

C = TypeVar("C", bound=type)
Migrate = Callable[[int, Any], Any]

FIRST_VERSION = 1
_ATTRIBUTE = "__penstock_state_type__"


@dataclass(frozen=True, slots=True)
class Evolution:
    """The version of a type and the rules for values of earlier versions."""

    version: int = FIRST_VERSION
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # from a field name to its earlier names
    defaults: Mapping[str, Any] = field(default_factory=dict)  # values of fields that were added to a row type
    migrate: Migrate | None = None


UNCHANGED = Evolution()


def make_evolution(
    version: int,
    aliases: Mapping[str, str | Sequence[str]] | None,
    defaults: Mapping[str, Any] | None,
    migrate: Migrate | None,
    type_name: str,
) -> Evolution:
    """Checks the arguments and returns the evolution of a type."""
    if type(version) is not int or version < FIRST_VERSION:
        raise StateError(
            "STATE_VERSION",
            f"The version of {type_name} is {version!r}, but a version is an integer of at least {FIRST_VERSION}. "
            "A type without a version has version 1, so use 2 for the first change.",
        )
    if migrate is not None and not callable(migrate):
        raise StateError(
            "STATE_MIGRATE",
            f"The migrate argument of {type_name} is {migrate!r}. Pass a function migrate(from_version, old) that returns the new "
            "value.",
        )
    if migrate is not None and version == FIRST_VERSION:
        raise StateError(
            "STATE_VERSION",
            f"{type_name} has a migrate function but version 1, so no value could have a lower version. "
            "Set version=2, and increase it with every later change.",
        )
    names = {new: (old,) if isinstance(old, str) else tuple(old) for new, old in (aliases or {}).items()}
    return Evolution(version, names, dict(defaults or {}), migrate)


def state_type(
    *,
    version: int = FIRST_VERSION,
    aliases: Mapping[str, str | Sequence[str]] | None = None,
    migrate: Migrate | None = None,
) -> Callable[[C], C]:
    """Declares how a class of state values differs from its earlier versions.

    It is not needed for fields that were added with a default, removed, reordered or widened. `aliases` maps a field to its
    earlier names. `migrate(from_version, old)` returns the new value for a value of a lower version, which is passed as a dict
    of its fields.

    >>> from dataclasses import dataclass
    >>> @state_type(aliases={"total": "sum"})
    ... @dataclass
    ... class Spent:
    ...     total: float
    ...     orders: int = 0
    >>> evolution_of(Spent).aliases
    {'total': ('sum',)}
    """

    def mark(python_class: C) -> C:
        if not isinstance(python_class, type):
            raise StateError(
                "STATE_TYPE_CLASS",
                f"@state_type decorates {python_class!r}, which is not a class. Use it on a dataclass, a msgspec Struct, a "
                "NamedTuple or a TypedDict.",
            )
        declared = make_evolution(version, aliases, None, migrate, f"the class {python_class.__qualname__}")
        setattr(python_class, _ATTRIBUTE, declared)
        return python_class

    return mark


def evolution_of(python_class: Any) -> Evolution:
    """Returns the evolution declared on a class. Base classes are other types and are not searched."""
    if not isinstance(python_class, type):
        return UNCHANGED
    declared: Evolution = vars(python_class).get(_ATTRIBUTE, UNCHANGED)
    return declared
