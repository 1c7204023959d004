"""How a type of state changed from one version of a program to the next: said once, beside the type."""

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
    """What a program says of a type's history."""

    version: int = FIRST_VERSION
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # a field's name to its earlier names
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of fields that a row type has gained
    migrate: Migrate | None = None


UNCHANGED = Evolution()


def evolution(
    version: int,
    aliases: Mapping[str, str | Sequence[str]] | None,
    defaults: Mapping[str, Any] | None,
    migrate: Migrate | None,
    of: str,
) -> Evolution:
    """Checks what a program said of a type."""
    given: Any = version
    if type(given) is not int or given < FIRST_VERSION:
        raise StateError(
            "STATE_VERSION",
            f"The version of {of} is {version!r}; versions are whole numbers from {FIRST_VERSION} on. "
            "A type that says nothing has version 1, so the first change makes it 2.",
        )
    if migrate is not None and not callable(migrate):
        raise StateError(
            "STATE_MIGRATE",
            f"migrate of {of} is {migrate!r}; it is a function migrate(from_version, old) that returns the new value.",
        )
    if migrate is not None and version == FIRST_VERSION:
        raise StateError(
            "STATE_VERSION",
            f"{of} has a migrate function and version 1, so nothing could be older than it. "
            "Say version=2, and a higher one with every later change.",
        )
    names = {new: (old,) if isinstance(old, str) else tuple(old) for new, old in (aliases or {}).items()}
    return Evolution(version, names, dict(defaults or {}), migrate)


def state_type(
    *,
    version: int = FIRST_VERSION,
    aliases: Mapping[str, str | Sequence[str]] | None = None,
    migrate: Migrate | None = None,
) -> Callable[[C], C]:
    """Says how a class of state values differs from its earlier versions.

    Fields that were added with a default, removed, reordered or widened need nothing of this. `aliases` names what a
    field was called before. `migrate(from_version, old)` makes the new value of an old one, which comes as a dict of its
    fields; it is called for values of a lower version only.

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
                f"@state_type stands on {python_class!r}; it belongs on a class: a dataclass, a msgspec Struct, a NamedTuple "
                "or a TypedDict.",
            )
        said = evolution(version, aliases, None, migrate, f"the class {python_class.__qualname__}")
        setattr(python_class, _ATTRIBUTE, said)
        return python_class

    return mark


def evolution_of(python_class: Any) -> Evolution:
    """What was said of a class itself; its base classes are other types."""
    said: Evolution = vars(python_class).get(_ATTRIBUTE, UNCHANGED) if isinstance(python_class, type) else UNCHANGED
    return said
