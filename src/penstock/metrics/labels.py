"""Labels of operators in reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def operator_labels(names: Mapping[str, str]) -> dict[str, str]:
    """The name of each operator by uid, followed by the uid if several operators have the name.

    >>> operator_labels({"map-1": "check", "map-2": "check", "sink-1": "mail"})
    {'map-1': 'check (map-1)', 'map-2': 'check (map-2)', 'sink-1': 'mail'}
    """
    count = Counter(names.values())
    return {uid: name if count[name] == 1 else f"{name} ({uid})" for uid, name in names.items()}
