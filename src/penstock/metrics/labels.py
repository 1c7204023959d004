"""What operators are called where people read of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def labels(names: Mapping[str, str]) -> dict[str, str]:
    """By uid: an operator's name, and its uid with it where several have that name.

    >>> labels({"map-1": "check", "map-2": "check", "sink-1": "mail"})
    {'map-1': 'check (map-1)', 'map-2': 'check (map-2)', 'sink-1': 'mail'}
    """
    count = Counter(names.values())
    return {uid: name if count[name] == 1 else f"{name} ({uid})" for uid, name in names.items()}
