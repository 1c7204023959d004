"""Trees of queries."""

from __future__ import annotations

import pytest
from sqlglot import exp

from penstock.table.dialect import nodes, parse_query, position


def test_clauses_of_select() -> None:
    query = parse_query(
        "SELECT DISTINCT a AS x, COUNT(*) c, t.* FROM t WHERE a > 1 GROUP BY a HAVING COUNT(*) > 1 "
        "WINDOW w AS (PARTITION BY a), v AS (w ORDER BY b) ORDER BY x DESC LIMIT 10 OFFSET 5"
    )
    assert isinstance(query, exp.Select)
    for clause in ("distinct", "from_", "where", "group", "having", "windows", "order", "limit", "offset"):
        assert query.args.get(clause) is not None, clause
    assert [item.alias_or_name for item in query.expressions] == ["x", "c", "*"]
    assert [window.this.name for window in query.args["windows"]] == ["w", "v"]
    assert query.args["limit"].expression.this == "10"


def test_fetch_is_limit() -> None:
    query = parse_query("SELECT a FROM t OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY")
    assert (query.args["limit"].expression.this, query.args["offset"].expression.this) == ("3", "2")


def test_grouping_sets() -> None:
    query = parse_query("SELECT 1 FROM t GROUP BY a, GROUPING SETS ((a, b), a, ()), CUBE (c, d), ROLLUP (e)")
    kinds = [type(item) for item in query.args["group"].expressions]
    assert kinds == [exp.Column, exp.GroupingSets, exp.Cube, exp.Rollup]
    assert len(query.args["group"].expressions[1].expressions) == 3


def test_intersect_binds_more_tightly() -> None:
    query = parse_query("SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3 ORDER BY 1")
    assert isinstance(query, exp.Union)
    assert query.args["distinct"] is False
    assert isinstance(query.expression, exp.Intersect)
    assert query.args["order"] is not None


def test_with() -> None:
    query = parse_query("WITH a (x) AS (SELECT 1), b AS (VALUES (1, DEFAULT), ROW(2, 3)) SELECT * FROM a, b")
    first, second = query.args["with_"].expressions
    assert (first.alias, [column.name for column in first.args["alias"].columns]) == ("a", ["x"])
    assert isinstance(second.this, exp.Values)


@pytest.mark.parametrize(
    ("join", "side", "kind", "method"),
    [
        ("JOIN b ON a.x = b.x", None, None, None),
        ("INNER JOIN b USING (x)", None, "INNER", None),
        ("LEFT OUTER JOIN b ON TRUE", "LEFT", None, None),
        ("FULL JOIN b ON TRUE", "FULL", None, None),
        ("CROSS JOIN b", None, "CROSS", None),
        ("NATURAL RIGHT JOIN b", "RIGHT", None, "NATURAL"),
        (", b", None, "COMMA", None),
    ],
)
def test_joins(join: str, side: str | None, kind: str | None, method: str | None) -> None:
    query = parse_query(f"SELECT * FROM a {join}")
    (found,) = query.args["joins"]
    assert (found.args.get("side"), found.args.get("kind"), found.args.get("method")) == (side, kind, method)


def test_parentheses_around_joins() -> None:
    query = parse_query("SELECT * FROM ((SELECT 1) AS a JOIN b ON TRUE) JOIN c ON TRUE")
    assert isinstance(query.args["from_"].this, nodes.JoinedTables)


def test_temporal_join() -> None:
    query = parse_query("SELECT * FROM a JOIN b FOR SYSTEM_TIME AS OF a.t AS c ON a.x = c.x")
    table = query.args["joins"][0].this
    assert table.args["version"].expression.name == "t"
    assert table.alias == "c"


def test_lateral_and_unnest() -> None:
    query = parse_query(
        "SELECT * FROM a, LATERAL TABLE(f(x)) AS t(y), UNNEST(a.z) WITH ORDINALITY AS u (v, n), LATERAL (SELECT 1), TABLE(g(1))"
    )
    kinds = [type(join.this) for join in query.args["joins"]]
    assert kinds == [nodes.TableFunction, exp.Unnest, exp.Lateral, nodes.TableFunction]
    assert query.args["joins"][0].this.args["lateral"]
    assert query.args["joins"][1].this.args["offset"]


def test_window_table_functions() -> None:
    query = parse_query(
        "SELECT * FROM TUMBLE(DATA => TABLE s.bids PARTITION BY (x, y) ORDER BY t, "
        "TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' MINUTES) AS w"
    )
    function = query.args["from_"].this
    assert isinstance(function, nodes.TableFunction)
    data, time, size = function.this.expressions
    assert [argument.this.name for argument in (data, time, size)] == ["DATA", "TIMECOL", "SIZE"]
    assert isinstance(data.expression, nodes.TableArgument)
    assert [column.name for column in data.expression.args["partition_by"]] == ["x", "y"]
    assert isinstance(time.expression, nodes.Descriptor)
    assert isinstance(size.expression, nodes.IntervalLiteral)
    old = parse_query("SELECT * FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '2' HOUR))")
    assert len(old.args["from_"].this.this.expressions) == 4


def test_hints() -> None:
    query = parse_query(
        "SELECT /*+ STATE_TTL('a' = '1d', 'b' = '2d'), LOOKUP('table' = 'c'), BROADCAST(x, y), UID(1) */ * "
        "FROM t /*+ OPTIONS('k'='v') */"
    )
    ttl, lookup, broadcast, uid = query.args["hint"].expressions
    assert [(pair.this.this, pair.expression.this) for pair in ttl.expressions] == [("a", "1d"), ("b", "2d")]
    assert [name.name for name in broadcast.expressions] == ["x", "y"]
    assert (lookup.this, uid.expressions[0].this) == ("LOOKUP", "1")
    assert query.args["from_"].this.args["hints"][0].this == "OPTIONS"


def test_match_recognize() -> None:
    query = parse_query(
        """SELECT * FROM ticker MATCH_RECOGNIZE (
             PARTITION BY symbol ORDER BY t
             MEASURES FIRST(A.p) AS f, FINAL LAST(B.p, 1) AS l
             ONE ROW PER MATCH AFTER MATCH SKIP TO FIRST B
             PATTERN (A{2,3} (B+? | PERMUTE(C, D)) {- E* -} F?) WITHIN INTERVAL '1' HOUR
             SUBSET X = (A, B)
             DEFINE B AS B.p < PREV(B.p, 1), C AS TRUE
           ) AS m"""
    )
    match = query.args["from_"].this
    assert isinstance(match, nodes.MatchRecognize)
    assert match.this.name == "ticker"
    assert [measure.alias for measure in match.args["measures"]] == ["f", "l"]
    assert match.args["measures"][1].this.args["flag"] == "FINAL"
    assert (match.args["after"].this, match.args["after"].args["variable"].name) == ("FIRST", "B")
    first, choice, exclusion, optional = match.args["pattern"].expressions
    assert (first.args["minimum"], first.args["maximum"]) == (2, 3)
    assert isinstance(choice, nodes.PatternAlternatives)
    assert choice.expressions[0].args["reluctant"]
    assert isinstance(choice.expressions[1], nodes.PatternPermutation)
    assert isinstance(exclusion, nodes.PatternExclusion)
    assert (optional.args["minimum"], optional.args["maximum"]) == (0, 1)
    assert isinstance(match.args["within"], nodes.IntervalLiteral)
    assert [definition.this.name for definition in match.args["define"]] == ["B", "C"]
    assert match.alias == "m"


def test_positions_of_tables() -> None:
    query = parse_query("SELECT *\nFROM a\n  JOIN c.d ON TRUE, (SELECT 1) AS q")
    places = {table.name: position(table) for table in query.find_all(exp.Table)}
    assert places == {"a": (2, 6), "d": (3, 8)}
    (subquery,) = query.find_all(exp.Subquery)
    assert position(subquery) == (3, 21)


def test_comments_and_quoted_names() -> None:
    query = parse_query("SELECT /* ; ' */ `a ``b` -- comment '\n, 'x;--' // more\nFROM `my table`")
    assert query.expressions[0].name == "a `b"
    assert query.expressions[1].this == "x;--"
