"""The input of the chaos job, and its expected output, computed without Penstock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

PARTITIONS = 4
USERS = 2_000
GROUPS = 40
WINDOW = 60_000  # milliseconds
EVERY = 10  # one row for every ten events of a user


def event(number: int) -> tuple[int, int, int]:
    """The event with this number: user, amount and time. Times are slightly out of order."""
    scrambled = (number * 2654435761) & 0xFFFFFFFF
    return scrambled % USERS, scrambled % 97, number * 10 + 40 - scrambled % 40


def message(user: int, amount: int, time: int) -> bytes:
    return b"%d,%d,%d" % (user, amount, time)


def partition(user: int) -> int:
    return user % PARTITIONS


def expected(events: int) -> tuple[Counter[str], Counter[str]]:
    """The expected rows of the running totals and of the windows."""
    counts, totals = [0] * USERS, [0] * USERS
    running: list[str] = []
    windows: Counter[tuple[int, int]] = Counter()
    sums: Counter[tuple[int, int]] = Counter()
    for user, amount, time in map(event, range(events)):
        counts[user] += 1
        totals[user] += amount
        if counts[user] % EVERY == 0:
            running.append(running_row(user, counts[user], totals[user]))
        window = (user % GROUPS, time // WINDOW)
        windows[window] += 1
        sums[window] += amount
    return Counter(running), Counter(window_rows(windows, sums))


def window_rows(counts: Counter[tuple[int, int]], sums: Counter[tuple[int, int]]) -> Iterator[str]:
    for (group, number), count in counts.items():
        yield window_row(group, number * WINDOW, count, sums[group, number])


def running_row(user: int, count: int, total: int) -> str:
    return f"{user},{count},{total}"


def window_row(group: int, start: int, count: int, total: int) -> str:
    return f"{group},{start},{count},{total}"
