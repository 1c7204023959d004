"""Random queries over two tables, in the SQL that Penstock and DuckDB share."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

TABLES = {
    "t": ["k VARCHAR", "a INT", "b BIGINT", "d DECIMAL(8, 2)"],
    "u": ["k VARCHAR", "a INT", "c INT"],
}
NAMES = {name: [column.split()[0] for column in columns] for name, columns in TABLES.items()}


@dataclass(frozen=True)
class Part:
    """A query, with its columns by kind: numbers and texts. `rows` is False if its rows are not determined by the tables alone."""

    sql: str
    numbers: tuple[str, ...]
    texts: tuple[str, ...]


def _table(name: str) -> Part:
    numbers = tuple(c.split()[0] for c in TABLES[name] if not c.endswith("VARCHAR"))
    return Part(f"SELECT * FROM {name}", numbers, ("k",))


_CONDITIONS = st.sampled_from(
    [
        "{n} > 2",
        "{n} IS NOT NULL",
        "{n} <= {m}",
        "{n} + 1 <> {m}",
        "{s} IN ('x', 'y')",
        "{s} IS NULL OR {n} < 3",
        "NOT ({n} = 1)",
    ]
)
_NUMBERS = st.sampled_from(
    ["{n} + {m}", "{n} * 2", "COALESCE({n}, 0)", "CASE WHEN {n} > 2 THEN {m} ELSE 7 END", "ABS({n} - 3)"]
)
_AGGREGATES = st.sampled_from(
    [
        "COUNT(*)",
        "COUNT({n})",
        "SUM({n})",
        "MIN({n})",
        "MAX({n})",
        "COUNT(DISTINCT {n})",
        "SUM(DISTINCT {n})",
        "MAX({s})",
        "COUNT(*) FILTER (WHERE {n} > 1)",
        "MIN({n}) FILTER (WHERE {m} IS NOT NULL)",
    ]
)


@st.composite
def _filled(draw: st.DrawFn, texts: st.SearchStrategy[str], part: Part) -> str:
    template = draw(texts)
    numbers = part.numbers or ("1",)
    strings = part.texts or ("'x'",)
    return template.format(
        n=draw(st.sampled_from(numbers)), m=draw(st.sampled_from(numbers)), s=draw(st.sampled_from(strings))
    )


@st.composite
def _filtered(draw: st.DrawFn, part: Part) -> Part:
    condition = draw(_filled(_CONDITIONS, part))
    return Part(f"SELECT * FROM ({part.sql}) WHERE {condition}", part.numbers, part.texts)


@st.composite
def _computed(draw: st.DrawFn, part: Part) -> Part:
    expressions = draw(st.lists(_filled(_NUMBERS, part), min_size=1, max_size=2))
    columns = [f"{e} AS n{i}" for i, e in enumerate(expressions)]
    texts = [f"{s} AS s{i}" for i, s in enumerate(part.texts)]
    sql = f"SELECT {', '.join(columns + texts)} FROM ({part.sql})"
    return Part(sql, tuple(f"n{i}" for i in range(len(columns))), tuple(f"s{i}" for i in range(len(texts))))


@st.composite
def _grouped(draw: st.DrawFn, part: Part) -> Part:
    keys = draw(st.lists(st.sampled_from([*part.numbers, *part.texts] or ["1"]), max_size=2, unique=True))
    calls = draw(st.lists(_filled(_AGGREGATES, part), min_size=0 if keys else 1, max_size=3))
    numbers = [f"{c} AS n{i}" for i, c in enumerate(calls) if not c.startswith("MAX(s") and c not in _text_calls(part)]
    texts = [f"{c} AS s{i}" for i, c in enumerate(calls) if c in _text_calls(part)]
    named = [f"{k} AS g{i}" for i, k in enumerate(keys)]
    # Without keys, Flink emits nothing for an empty table, and SQL one row.
    having = draw(st.sampled_from(["", "", " HAVING COUNT(*) > 1"])) if keys else " HAVING COUNT(*) > 0"
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    sql = f"SELECT {', '.join(named + numbers + texts)} FROM ({part.sql}){group}{having}"
    result_numbers = [f"g{i}" for i, k in enumerate(keys) if k in part.numbers]
    result_texts = [f"g{i}" for i, k in enumerate(keys) if k in part.texts]
    return Part(
        sql,
        tuple(result_numbers + [c.split(" AS ")[-1] for c in numbers]),
        tuple(result_texts + [c.split(" AS ")[-1] for c in texts]),
    )


def _text_calls(part: Part) -> set[str]:
    return {f"MAX({s})" for s in part.texts}


@st.composite
def _distinct(draw: st.DrawFn, part: Part) -> Part:
    columns = [*part.numbers, *part.texts]
    kept = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True)) if columns else ["1"]
    return Part(
        f"SELECT DISTINCT {', '.join(kept)} FROM ({part.sql})",
        tuple(c for c in kept if c in part.numbers),
        tuple(c for c in kept if c in part.texts),
    )


@st.composite
def _ranked(draw: st.DrawFn, part: Part) -> Part:
    """Top-N by all columns, so that equal ranks are equal rows."""
    columns = [*part.numbers, *part.texts]
    if not columns:
        return part
    first = draw(st.sampled_from(columns))
    order = [f"{first} {draw(st.sampled_from(['ASC NULLS FIRST', 'DESC NULLS LAST']))}"]
    order += [f"{c} ASC NULLS FIRST" for c in columns if c != first]
    partition = draw(st.sampled_from(["", f"PARTITION BY {draw(st.sampled_from(columns))} "]))
    most, rank = draw(st.integers(1, 3)), f"r{len(columns)}"
    inner = f"SELECT *, ROW_NUMBER() OVER ({partition}ORDER BY {', '.join(order)}) AS {rank} FROM ({part.sql})"
    with_rank = draw(st.booleans())
    shown = [*columns, rank] if with_rank else columns
    numbers = (*part.numbers, rank) if with_rank else part.numbers
    return Part(f"SELECT {', '.join(shown)} FROM ({inner}) WHERE {rank} <= {most}", numbers, part.texts)


@st.composite
def _joined(draw: st.DrawFn, left: Part, right: Part) -> Part:
    """Inner and outer joins with equal keys, other conditions or both."""
    condition = draw(_pair_condition(left, right))
    columns = [f"l.{c} AS x{i}" for i, c in enumerate(left.numbers)] + [
        f"r.{c} AS y{i}" for i, c in enumerate(right.numbers)
    ]
    texts = [f"l.{c} AS p{i}" for i, c in enumerate(left.texts)] + [f"r.{c} AS q{i}" for i, c in enumerate(right.texts)]
    if condition is None or not columns:
        return left
    kind = draw(st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
    if " = " not in condition:
        kind = kind.replace("FULL", "LEFT")  # DuckDB has no full join without an equal key
    sql = f"SELECT {', '.join(columns + texts)} FROM ({left.sql}) AS l {kind} ({right.sql}) AS r ON {condition}"
    return Part(sql, tuple(c.split(" AS ")[1] for c in columns), tuple(t.split(" AS ")[1] for t in texts))


@st.composite
def _pair_condition(draw: st.DrawFn, left: Part, right: Part) -> str | None:
    """A condition over l and r; None if they have no columns that can be compared."""
    numbers = [(a, b) for a in left.numbers for b in right.numbers]
    texts = [(a, b) for a in left.texts for b in right.texts]
    equal = [f"l.{a} = r.{b}" for a, b in [*numbers, *texts]]
    others = [f"l.{a} < r.{b}" for a, b in numbers] + [f"l.{a} <> r.{b}" for a, b in [*numbers, *texts]]
    others += [f"l.{a} + r.{b} > 3" for a, b in numbers]
    if not equal:
        return None
    first = draw(st.sampled_from([*equal, *equal, *others]))  # a bias to equal keys
    if draw(st.booleans()):
        return first
    second = draw(st.sampled_from([*equal, *others, *(f"l.{a} IS NOT NULL" for a in left.numbers)]))
    return f"{first} AND {second}"


def _equal_columns(left: Part, right: Part) -> st.SearchStrategy[str]:
    """An equality of columns: the only way in which an aggregate in a subquery can be connected with the outer query."""
    numbers = [f"l.{a} = r.{b}" for a in left.numbers for b in right.numbers]
    return st.sampled_from([*numbers, *(f"l.{a} = r.{b}" for a in left.texts for b in right.texts)])


@st.composite
def _half_joined(draw: st.DrawFn, left: Part, right: Part) -> Part:
    """IN, EXISTS and their negations, and a comparison with a scalar subquery."""
    condition = draw(_pair_condition(left, right))
    if condition is None or not left.numbers or not right.numbers:
        return left
    a, b = draw(st.sampled_from(left.numbers)), draw(st.sampled_from(right.numbers))
    columns = ", ".join([*left.numbers, *left.texts])
    rows = f"SELECT {columns} FROM ({left.sql}) AS l WHERE"
    forms = [
        f"{rows} l.{a} IN (SELECT {b} FROM ({right.sql}))",
        f"{rows} l.{a} NOT IN (SELECT {b} FROM ({right.sql}))",
        f"{rows} l.{a} NOT IN (SELECT {b} FROM ({right.sql}) WHERE {b} IS NOT NULL) AND l.{a} IS NOT NULL",
        f"{rows} EXISTS (SELECT 1 FROM ({right.sql}) AS r WHERE {condition})",
        f"{rows} NOT EXISTS (SELECT 1 FROM ({right.sql}) AS r WHERE {condition})",
        f"{rows} l.{a} >= (SELECT MAX({b}) FROM ({right.sql}))",
        f"{rows} l.{a} > (SELECT MIN({b}) FROM ({right.sql}) AS r WHERE {draw(_equal_columns(left, right))})",
    ]
    return Part(draw(st.sampled_from(forms)), left.numbers, left.texts)


@st.composite
def _combined(draw: st.DrawFn, left: Part, right: Part) -> Part:
    """UNION, INTERSECT and EXCEPT, with and without ALL, of one or two columns."""
    if not left.numbers or not right.numbers:
        return left
    a, b = draw(st.sampled_from(left.numbers)), draw(st.sampled_from(right.numbers))
    word = draw(
        st.sampled_from([f"{kind}{all_}" for kind in ("UNION", "INTERSECT", "EXCEPT") for all_ in ("", " ALL")])
    )
    both_texts = draw(st.booleans()) and bool(left.texts and right.texts)
    cast = "CAST({} AS DECIMAL(20, 2)) AS n0"
    texts: tuple[str, ...] = ()
    columns = [cast.format(a), cast.format(b)]
    if both_texts:
        texts = ("s0",)
        columns[0] += f", {draw(st.sampled_from(left.texts))} AS s0"
        columns[1] += f", {draw(st.sampled_from(right.texts))} AS s0"
    sql = f"SELECT {columns[0]} FROM ({left.sql}) {word} SELECT {columns[1]} FROM ({right.sql})"
    return Part(f"SELECT * FROM ({sql})", ("n0",), texts)


_UNARY = (_filtered, _computed, _grouped, _distinct, _ranked)
_BINARY = (_joined, _half_joined, _combined)


@st.composite
def queries(draw: st.DrawFn, depth: int = 3) -> str:
    """A random query."""

    def part(left: int) -> Part:
        found = _table(draw(st.sampled_from(list(TABLES))))
        for _ in range(draw(st.integers(0, left))):
            if left > 1 and draw(st.integers(0, 3)) == 0:
                found = draw(draw(st.sampled_from(_BINARY))(found, part(left - 2)))
            else:
                found = draw(draw(st.sampled_from(_UNARY))(found))
        return found

    return part(depth).sql


@st.composite
def join_queries(draw: st.DrawFn, below: int = 2, above: int = 2) -> str:
    """A random query with one to three joins or set operations, with aggregates and filters below and above them."""

    def part(most: int) -> Part:
        found = _table(draw(st.sampled_from(list(TABLES))))
        for _ in range(draw(st.integers(0, most))):
            found = draw(draw(st.sampled_from(_UNARY))(found))
        return found

    found = part(below)
    for _ in range(draw(st.integers(1, 3))):
        binary = draw(st.sampled_from(_BINARY))
        other = part(below)
        found = draw(binary(found, other) if draw(st.booleans()) else binary(other, found))
        if above and draw(st.booleans()):
            found = draw(draw(st.sampled_from(_UNARY))(found))
    return found.sql
