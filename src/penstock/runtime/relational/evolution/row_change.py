"""How the stored rows and keys of a changed operator follow from those of the old one, by the meaning of columns."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.runtime.relational.evolution.meaning import InputMeaning
from penstock.runtime.relational.evolution.widening import keeps_values


@dataclass(slots=True)
class RowChange:
    """The columns of the new rows, and what prevents that they are used."""

    columns: tuple[int, ...] | None = None  # None: rows stay as they are
    added: list[str] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)


def row_change(old: InputMeaning, new: InputMeaning) -> RowChange:
    """Compares the columns of an input."""
    change = RowChange()
    places: list[int] = []
    for text, type_ in zip(new.columns, new.types, strict=True):
        place = old.columns.index(text) if text in old.columns else -1
        places.append(place)
        if place < 0:
            change.added.append(text)
        elif not keeps_values(old.types[place], type_):
            change.obstacles.append(f"{text} was {old.types[place]} and is {type_}")
    if places != list(range(len(old.columns))):
        change.columns = tuple(places)
    return change


def key_change(old: InputMeaning, new: InputMeaning) -> tuple[tuple[int, ...] | None, list[str]]:
    """Compares the keys of an input: for each new part its position in the old key (None: the key stays), and obstacles."""
    before, after = old.key_texts, new.key_texts
    if sorted(before) != sorted(after):
        return None, [f"its key was ({', '.join(before)}) and is ({', '.join(after)})"]
    remaining = list(range(len(before)))
    places = []
    for text in after:
        place = next(i for i in remaining if before[i] == text)
        remaining.remove(place)
        places.append(place)
    obstacles = [
        f"key {text} was {old.types[old.keys[place]]} and is {new.types[new.keys[at]]}"
        for at, (text, place) in enumerate(zip(after, places, strict=True))
        if not keeps_values(old.types[old.keys[place]], new.types[new.keys[at]])
    ]
    return None if places == list(range(len(before))) else tuple(places), obstacles
