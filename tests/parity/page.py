"""The page docs/reference/parity.md: what Penstock has of PyFlink's names, counted."""

from __future__ import annotations

import re
from itertools import groupby

from tests.parity.calling import BROKEN, BUILT, MISSING, REFUSED
from tests.parity.finding import find, place_of
from tests.parity.names import LATER, Name, names
from tests.parity.verdicts import verdicts

_MADE = "<!-- Made by scripts/make_parity.py; change the code instead. -->\n"


def page() -> str:
    """The whole page."""
    lines = [
        "# What Penstock has of PyFlink's API\n",
        _MADE,
        "Each public name of PyFlink's functions, state, timers, streams, watermarks, environment, types and metrics is",
        "looked up in Penstock and called: those that live inside a running job are called there. **Built** names did their",
        "work. **Refused** names raise `UnsupportedOperation`; the reason stands below. **Missing** names are not there. Names",
        "that PyFlink's own class always refuses, and names that hand out Java objects, are not counted. Tests call all names",
        "again and compare the result with this page, and the parameters of built methods with PyFlink's.\n",
        "Settings that only tune Flink's own machinery, such as Kryo, RocksDB or slots, are kept and read back, and change",
        "nothing; they count as built. [Where Penstock differs from Flink](../explanation/differences.md) tells of them.\n",
        *_summary(),
        *_later(),
    ]
    for area, of_area in groupby(verdicts(), key=lambda name: name.area):
        lines += _area(area, list(of_area))
    return "\n".join(lines) + "\n"


def share_built() -> float:
    """The part of all judged names that is built."""
    found = [verdict.status for verdict in verdicts().values()]
    return found.count(BUILT) / len(found)


def _summary() -> list[str]:
    lines = ["| area | names | built | refused | missing | built, % |", "|---|---|---|---|---|---|"]
    areas = list(dict.fromkeys(name.area for name in verdicts()))
    rows = {area: [v.status for n, v in verdicts().items() if n.area == area] for area in areas}
    rows["**all**"] = [v.status for v in verdicts().values()]
    for area, found in rows.items():
        missing = found.count(MISSING) + found.count(BROKEN)
        counts = f"{len(found)} | {found.count(BUILT)} | {found.count(REFUSED)} | {missing}"
        lines.append(f"| {area} | {counts} | {100 * found.count(BUILT) / len(found):.1f} |")
    return [*lines, ""]


def _later() -> list[str]:
    lines = []
    for area, layer in LATER.items():
        count = sum(name.area == area and not name.refused_there for name in names())
        lines.append(f"Not judged yet: {count} names of {area}, which come with {layer}.")
    return [*lines, ""]


def _area(area: str, found: list[Name]) -> list[str]:
    lines = [
        f"## {area[0].upper()}{area[1:]}\n",
        "| PyFlink's class | in Penstock | built | not built |",
        "|---|---|---|---|",
    ]
    reasons: dict[str, list[Name]] = {}
    for owner, of_owner in groupby(found, key=lambda name: name.owner):
        group = list(of_owner)
        built = [n.member for n in group if n.member and verdicts()[n].status == BUILT]
        rest = [n for n in group if verdicts()[n].status != BUILT]
        shown = ", ".join(_not_built(n) for n in rest)
        lines.append(f"| `{owner}` | {_place(owner)} | {', '.join(f'`{m}`' for m in built)} | {shown} |")
        for name in rest:
            if verdicts()[name].status in (REFUSED, BROKEN):
                reasons.setdefault(_reason(name), []).append(name)
    told = [f"- {', '.join(f'`{n}`' for n in refused)}: {reason}" for reason, refused in reasons.items()]
    return [*lines, "", *(["Refused:\n", *told, ""] if told else [])]


def _place(owner: str) -> str:
    place = place_of(owner.split(".")[0])
    return "–" if place is None or find(owner) is None else f"`{place.__name__}`"


def _not_built(name: Name) -> str:
    shown = f"`{name.member}`" if name.member else "the class"
    return f"{shown} ({verdicts()[name].status})"


def _reason(name: Name) -> str:
    return re.sub(r"\s+", " ", verdicts()[name].reason)
