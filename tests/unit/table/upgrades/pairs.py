"""Pairs of an old and a changed query, with what happens to their state and what the changed query emits.

Both queries read the tables orders and rates. The first three orders arrive before the change, the others after it. The expected
changes of the second run are netted: a row that was retracted has the count -1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FIRST = [
    {"id": 1, "who": "ann", "item": "pen", "price": 10, "ts": "2026-01-01 00:00:01"},
    {"id": 2, "who": "bob", "item": "cup", "price": 20, "ts": "2026-01-01 00:00:02"},
    {"id": 3, "who": "ann", "item": "cup", "price": 5, "ts": "2026-01-01 00:00:03"},
]
SECOND = [
    {"id": 4, "who": "ann", "item": "pen", "price": 100, "ts": "2026-01-01 00:00:04"},
    {"id": 5, "who": "cat", "item": "cup", "price": 7, "ts": "2026-01-01 00:00:15"},
]
RATES = [{"item": "pen", "rate": 2, "note": "x"}, {"item": "cup", "rate": 3, "note": "y"}]

_COLUMNS = "id INT, who STRING, item STRING, price BIGINT, ts TIMESTAMP(3), seen AS PROCTIME(), WATERMARK FOR ts AS ts"
_FILES = "'connector' = 'filesystem', 'format' = 'json', 'source.monitor-interval' = '10 ms'"


def script(inserts: str, columns: str = _COLUMNS, sinks: str = "") -> str:
    """Returns the script of a query. `sinks`: more tables."""
    return f"""
CREATE TABLE orders ({columns}) WITH ({_FILES}, 'path' = '$FOLDER/orders');
CREATE TABLE rates (item STRING, rate INT, note STRING) WITH ({_FILES}, 'path' = '$FOLDER/rates');
CREATE TABLE two (k STRING, a BIGINT) WITH ('connector' = 'print');
CREATE TABLE three (k STRING, a BIGINT, b BIGINT) WITH ('connector' = 'print');
CREATE TABLE other (k STRING, a BIGINT) WITH ('connector' = 'print', 'print-identifier' = 'other');
{sinks}
{inserts};
"""


@dataclass(frozen=True)
class Pair:
    """A change of a query. Tables are by the names of sinks ("" for those without a name), rows by their printed texts."""

    name: str
    old: str
    new: str
    before: dict[str, dict[str, int]]
    after: dict[str, dict[str, int]]
    verdicts: tuple[str, ...]  # of the operators of the new query, then of dropped ones, as `check` lists them
    reason: str = ""  # a part of the reasons
    options: dict[str, str] = field(default_factory=dict)  # of the second run, if it is refused without them


def _rows(*rows: str, gone: tuple[str, ...] = (), sink: str = "") -> dict[str, dict[str, int]]:
    return {sink: {**dict.fromkeys(gone, -1), **dict.fromkeys(rows, 1)}}


_COUNT_SUM = "INSERT INTO three SELECT who, COUNT(*), SUM(price) FROM orders GROUP BY who"
_BEFORE = _rows("ann, 2, 15", "bob, 1, 20")
_KEPT = _rows("ann, 3, 115", "cat, 1, 7", gone=("ann, 2, 15",))
_SUM = "INSERT INTO two SELECT who, SUM(price) FROM orders GROUP BY who"
_SUMS = _rows("ann, 15", "bob, 20")
_SUMS_KEPT = _rows("ann, 115", "cat, 7", gone=("ann, 15",))
_REBUILD = {"execution.state-recovery.rebuild": "true"}
_DROP = {"execution.state-recovery.ignore-unclaimed-state": "true"}
_INT = _COLUMNS.replace("price BIGINT", "price INT").replace("who STRING", "who VARCHAR(5)")
_DECIMAL, _WIDER = (_COLUMNS.replace("price BIGINT", f"price DECIMAL({p}, 2)") for p in (10, 12))
_SINK_DECIMAL = "CREATE TABLE totals (k STRING, a DECIMAL(38, 2)) WITH ('connector' = 'print');"
_LAST = (
    "INSERT INTO two SELECT who, price FROM (SELECT {columns}, ROW_NUMBER() OVER (PARTITION BY who ORDER BY seen DESC) AS n "
    "FROM orders) WHERE n = 1"
)
_TOP = (
    "INSERT INTO two SELECT who, price FROM (SELECT {columns}, ROW_NUMBER() OVER (PARTITION BY who ORDER BY price DESC) AS n "
    "FROM orders) WHERE n <= {n}"
)
_WINDOW = (
    "INSERT INTO {sink} SELECT who, {calls} FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '{size}' SECOND)) "
    "GROUP BY who, window_start, window_end"
)
_JOIN = "INSERT INTO {sink} SELECT o.who, {columns} FROM orders AS o {kind} JOIN rates AS r ON {condition}"


def _join(columns: str, sink: str = "two", kind: str = "", condition: str = "o.item = r.item") -> str:
    return _JOIN.format(columns=columns, sink=sink, kind=kind, condition=condition)


PAIRS = [
    Pair("the same query", script(_COUNT_SUM), script(_COUNT_SUM), _BEFORE, _KEPT, ("kept",)),
    Pair(
        "other aliases",
        script(_COUNT_SUM),
        script(
            "INSERT INTO three SELECT x.w, COUNT(*) AS c, SUM(p) FROM (SELECT price AS p, who AS w FROM orders) x GROUP BY w"
        ),
        _BEFORE,
        _KEPT,
        ("kept",),
    ),
    Pair(
        "columns in another order",
        script(_COUNT_SUM),
        script("INSERT INTO three SELECT who, SUM(price), COUNT(*) FROM orders GROUP BY who"),
        _BEFORE,
        _rows("ann, 115, 3", "cat, 7, 1", gone=("ann, 15, 2",)),
        ("kept",),
    ),
    Pair(
        "an aggregate is added",
        script(_SUM),
        script("INSERT INTO three SELECT who, MAX(price), SUM(price) FROM orders GROUP BY who"),
        _SUMS,
        _rows("ann, 100, 115", "cat, 7, 7", gone=("ann, null, 15",)),
        ("kept in part",),
        "MAX(orders.price) starts empty",
    ),
    Pair(
        "an aggregate is removed",
        script(_COUNT_SUM),
        script(_SUM),
        _BEFORE,
        _SUMS_KEPT,
        ("kept",),
        "COUNT(*) is dropped",
    ),
    Pair(
        "a distinct count is added before another one",
        script("INSERT INTO two SELECT who, COUNT(DISTINCT item) FROM orders GROUP BY who"),
        script("INSERT INTO three SELECT who, COUNT(DISTINCT price), COUNT(DISTINCT item) FROM orders GROUP BY who"),
        _rows("ann, 2", "bob, 1"),
        _rows("ann, 1, 2", "cat, 1, 1", gone=("ann, 0, 2",)),
        ("kept in part",),
        "COUNT(DISTINCT orders.price) starts empty",
    ),
    Pair(
        "keys in another order",
        script("INSERT INTO two SELECT who || item, SUM(price) FROM orders GROUP BY who, item"),
        script("INSERT INTO two SELECT who || item, SUM(price) FROM orders GROUP BY item, who"),
        _rows("annpen, 10", "bobcup, 20", "anncup, 5"),
        _rows("annpen, 110", "catcup, 7", gone=("annpen, 10",)),
        ("kept",),
    ),
    Pair(
        "a filter by key is added",
        script(_SUM),
        script(_SUM.replace("GROUP", "WHERE who <> 'cat' GROUP")),
        _SUMS,
        _rows("ann, 115", gone=("ann, 15",)),
        ("kept",),
        "the state of other keys is not used",
    ),
    Pair(
        "a filter by key is widened",
        script(_SUM.replace("GROUP", "WHERE who = 'ann' GROUP")),
        script(_SUM.replace("GROUP", "WHERE who = 'ann' OR who = 'cat' GROUP")),
        _rows("ann, 15"),
        _SUMS_KEPT,
        ("kept in part",),
        "keys that were left out start empty",
    ),
    Pair(
        "a filter by another column is added",
        script(_SUM),
        script(_SUM.replace("GROUP", "WHERE price > 6 GROUP")),
        _SUMS,
        _rows("ann, 110", "bob, 20", "cat, 7"),
        ("rebuilt",),
        "its state does not show which rows it contains",
        _REBUILD,
    ),
    Pair(
        "a filter of results",
        script(_SUM),
        script(f"{_SUM} HAVING SUM(price) > 10"),
        _SUMS,
        _rows("ann, 115", gone=("ann, 15",)),
        ("kept",),
    ),
    Pair(
        "another sink",
        script(_SUM),
        script(_SUM.replace("two", "other")),
        _SUMS,
        _rows("ann, 115", "cat, 7", gone=("ann, 15",), sink="other"),
        ("kept",),
    ),
    Pair(
        "a new branch before the old one",
        script(_SUM),
        script(
            f"EXECUTE STATEMENT SET BEGIN INSERT INTO other SELECT who, COUNT(*) FROM orders GROUP BY who; {_SUM}; END"
        ),
        _SUMS,
        _SUMS_KEPT | _rows("ann, 3", "bob, 1", "cat, 1", sink="other"),
        ("new", "kept"),
    ),
    Pair(
        "a branch is removed",
        script(
            "EXECUTE STATEMENT SET BEGIN INSERT INTO other SELECT item, COUNT(*) FROM orders GROUP BY item; "
            f"{_SUM}; END"
        ),
        script(_SUM),
        _SUMS | _rows("pen, 1", "cup, 2", sink="other"),
        _SUMS_KEPT,
        ("kept", "dropped"),
        "has no operator that can use it",
        _DROP,
    ),
    Pair("wider types", script(_SUM, _INT), script(_SUM), _SUMS, _SUMS_KEPT, ("kept",)),
    Pair(
        "decimals with more digits",
        script(_SUM.replace("two", "totals"), _DECIMAL, _SINK_DECIMAL),
        script(_SUM.replace("two", "totals"), _WIDER, _SINK_DECIMAL),
        _rows("ann, 15.00", "bob, 20.00"),
        _rows("ann, 115.00", "cat, 7.00", gone=("ann, 15.00",)),
        ("kept",),
    ),
    Pair(
        "a join with fewer columns",
        script(_join("o.price * r.rate, o.id", "three")),
        script(_join("o.price * r.rate")),
        _rows("ann, 20, 1", "bob, 60, 2", "ann, 15, 3"),
        _rows("ann, 200", "cat, 21"),
        ("kept",),
    ),
    Pair(
        "a join with one more column",
        script(_join("o.price * r.rate")),
        script(_join("o.price * r.rate, CHAR_LENGTH(r.note)", "three")),
        _rows("ann, 20", "bob, 60", "ann, 15"),
        _rows("ann, 200, null", "cat, 21, null"),
        ("kept in part",),
        "stored rows have NULL in rates.note",
    ),
    Pair(
        "a join becomes an outer join",
        script(_join("r.rate")),
        script(_join("r.rate", kind="LEFT")),
        _rows("ann, 2", "bob, 3", "ann, 3"),
        _rows("ann, 2", "bob, 3", "ann, 3") | {"": {"ann, 2": 2, "bob, 3": 1, "ann, 3": 1, "cat, 3": 1}},
        ("rebuilt",),
        "kind was INNER and is LEFT",
        _REBUILD,
    ),
    Pair(
        "the last row of a key, with columns in another order",
        script(_LAST.format(columns="who, price, id")),
        script(_LAST.format(columns="id, price, item, who")),
        _rows("ann, 5", "bob, 20"),
        _rows("ann, 100", "cat, 7", gone=("ann, 5",)),
        ("kept",),
    ),
    Pair(
        "Top-N with columns in another order",
        script(_TOP.format(columns="who, price", n=2)),
        script(_TOP.format(columns="price, who", n=2)),
        _rows("ann, 10", "bob, 20", "ann, 5"),
        _rows("ann, 100", "cat, 7", gone=("ann, 5",)),
        ("kept",),
    ),
    Pair(
        "Top-N with another N",
        script(_TOP.format(columns="who, price", n=2)),
        script(_TOP.format(columns="who, price", n=1)),
        _rows("ann, 10", "bob, 20", "ann, 5"),
        _rows("ann, 100", "bob, 20", "cat, 7"),
        ("rebuilt",),
        "end was 2 and is 1",
        _REBUILD,
    ),
    Pair(
        "a window with one more aggregate",
        script(_WINDOW.format(sink="two", calls="SUM(price)", size=3)),
        script(_WINDOW.format(sink="three", calls="COUNT(*), SUM(price)", size=3)),
        _rows("ann, 10", "bob, 20"),
        _rows("ann, 1, 105"),
        ("kept in part",),
        "COUNT(*) starts empty",
    ),
    Pair(
        "a window with another size",
        script(_WINDOW.format(sink="two", calls="SUM(price)", size=3)),
        script(_WINDOW.format(sink="two", calls="SUM(price)", size=5)),
        _rows("ann, 10", "bob, 20"),
        _rows("ann, 115", "bob, 20"),
        ("rebuilt",),
        "window was TUMBLE size 3000 ms of orders.ts and is TUMBLE size 5000 ms of orders.ts",
        _REBUILD,
    ),
    Pair(
        "a named state with another filter",
        script(_SUM.replace("SELECT", "SELECT /*+ UID('spent') */").replace("GROUP", "WHERE price > 6 GROUP")),
        script(_SUM.replace("SELECT", "SELECT /*+ UID('spent') */")),
        _rows("ann, 10", "bob, 20"),
        _rows("ann, 110", "cat, 7", gone=("ann, 10",)),
        ("kept in part",),
        "its state has rows of both",
    ),
    Pair(
        "a time to live is added",
        script(_SUM),
        script(_SUM.replace("SELECT", "SELECT /*+ STATE_TTL('orders' = '1 d') */")),
        _SUMS,
        _SUMS_KEPT,
        ("kept",),
        "its time to live was no limit and is 86400000 ms",
    ),
    Pair(
        "an aggregate of an aggregate, which reads other rows",
        script("INSERT INTO two SELECT 'all', SUM(s) FROM (SELECT who, SUM(price) AS s FROM orders GROUP BY who)"),
        script(
            "INSERT INTO two SELECT 'all', SUM(t) FROM (SELECT COUNT(*) AS n, SUM(price) AS t, who FROM orders GROUP BY who) "
            "WHERE who IS NOT NULL OR n > 0"
        ),
        _rows("all, 35"),
        _rows("all, 142"),
        ("kept in part", "rebuilt"),
        "COUNT(*) starts empty",
        _REBUILD,
    ),
    Pair(
        "an aggregate of an aggregate, both with one more",
        script("INSERT INTO two SELECT 'all', SUM(s) FROM (SELECT who, SUM(price) AS s FROM orders GROUP BY who)"),
        script(
            "INSERT INTO three SELECT 'all', SUM(n), SUM(s) "
            "FROM (SELECT COUNT(*) AS n, SUM(price) AS s FROM orders GROUP BY who)"
        ),
        _rows("all, 35"),
        _rows("all, 2, 142", gone=("all, null, 35",)),
        ("kept in part", "kept in part"),
        "COUNT(*) starts empty",
    ),
    Pair(
        "no state",
        script("INSERT INTO two SELECT who, price FROM orders"),
        script("INSERT INTO two SELECT who, price + 1 FROM orders WHERE price > 6"),
        _rows("ann, 10", "bob, 20", "ann, 5"),
        _rows("ann, 101", "cat, 8"),
        (),
    ),
]


def rates_of(pair: Pair) -> list[dict[str, Any]]:
    """Returns the rows of the table rates, which only joins read."""
    return RATES if "rates AS" in pair.old else []
