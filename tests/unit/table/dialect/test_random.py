"""Random texts and changed statements end in a tree or in a SqlParseError, and quoting round trips."""

from __future__ import annotations

import re
from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import exp

from penstock.errors import SqlParseError
from penstock.table.dialect import nodes, parse_expression, parse_query, parse_script, parse_statement, position
from tests.unit.table.dialect.grouping import grouped
from tests.unit.table.dialect.test_expressions import GROUPS
from tests.unit.table.dialect.test_statements import KINDS, ORDERS

_TOKEN = re.compile(r"'(?:[^']|'')*'|`[^`]*`|\w+|\s+|.", re.DOTALL)
_QUERY = (
    "SELECT /*+ STATE_TTL('a' = '1d') */ t.a, COUNT(DISTINCT b) FILTER (WHERE c > 1) OVER (PARTITION BY d ORDER BY e), "
    "CAST(f AS ROW<g INT>), JSON_VALUE(j, '$.x' RETURNING INT NULL ON EMPTY) FROM TUMBLE(TABLE s, DESCRIPTOR(ts), "
    "INTERVAL '1' DAY) AS t JOIN u FOR SYSTEM_TIME AS OF t.ts ON t.a = u.a WHERE x IN (SELECT 1 UNION SELECT 2) "
    "GROUP BY GROUPING SETS ((a), ()) HAVING y BETWEEN 1 AND 2 ORDER BY a DESC NULLS LAST LIMIT 5"
)
STATEMENTS = [ORDERS, _QUERY, *(text for text, _ in KINDS), *(f"SELECT {text}" for text, _ in GROUPS)]
WORDS = sorted({token for text in STATEMENTS for token in _TOKEN.findall(text) if token.strip()})


@st.composite
def changed_statements(draw: st.DrawFn) -> str:
    """A statement with some tokens dropped, doubled, exchanged or inserted."""
    tokens = _TOKEN.findall(draw(st.sampled_from(STATEMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(tokens) - 1))
        change = draw(st.sampled_from(("drop", "double", "exchange", "insert", "character")))
        if change == "drop":
            tokens[place] = ""
        elif change == "double":
            tokens.insert(place, tokens[place] + " ")
        elif change == "exchange":
            other = draw(st.integers(0, len(tokens) - 1))
            tokens[place], tokens[other] = tokens[other], tokens[place]
        elif change == "insert":
            tokens.insert(place, f" {draw(st.sampled_from(WORDS))} ")
        else:
            tokens.insert(place, draw(st.sampled_from("'`\"();,.*/+-<>=!?[]{}|^$#@~&%:\\\n\0é中1a_")))
    return "".join(tokens)


@given(changed_statements())
def test_a_changed_statement_is_parsed_or_refused(text: str) -> None:
    with suppress(SqlParseError):
        parse_statement(text)
    parse_script(text)


@given(st.text(max_size=60))
@example("''")
@example("SELECT ''''")
@example("\\")
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for parse in (parse_statement, parse_expression, parse_query):
        with suppress(SqlParseError):
            parse(text)
    parse_script(text)


@given(st.text(max_size=30))
def test_texts_round_trip(text: str) -> None:
    quoted = text.replace("'", "''")
    literal = parse_expression(f"'{quoted}'")
    assert isinstance(literal, exp.Literal)
    assert literal.this == text


@given(st.text(st.characters(exclude_characters="\n\r"), min_size=1, max_size=30))
def test_quoted_names_round_trip(name: str) -> None:
    quoted = name.replace("`", "``")
    column = parse_expression(f"`{quoted}`")
    assert isinstance(column, exp.Column)
    assert column.name == name


_COMMENT = st.text(st.characters(exclude_characters="*/\r\n"), max_size=10)
_BLANK = st.one_of(
    st.sampled_from((" ", "\n", "\t", "  \n ", "\r\n")),
    _COMMENT.map(lambda text: f" --{text}\n"),
    _COMMENT.filter(lambda text: not text.startswith("+")).map(lambda text: f" /*{text}*/ "),
)


@given(st.data(), st.sampled_from(GROUPS))
def test_blanks_and_comments_do_not_matter(data: st.DataObject, group: tuple[str, str]) -> None:
    text, expected = group
    spaced = "".join(data.draw(_BLANK) if token.isspace() else token for token in _TOKEN.findall(text))
    assert grouped(parse_expression(spaced)) == expected


@given(st.data(), st.sampled_from(KINDS))
def test_case_and_blanks_do_not_change_the_kind(data: st.DataObject, case: tuple[str, str]) -> None:
    text, kind = case
    text = text.lower() if data.draw(st.booleans()) else text.upper()
    if kind not in ("Reset", "Help", "Quit"):  # the SQL client allows no comments inside of these
        text = "".join(data.draw(_BLANK) if token.isspace() else token for token in _TOKEN.findall(text))
    assert parse_statement(text).statement_kind() == kind


@given(st.integers(0, 5), st.integers(0, 20))
def test_positions_follow_the_text(lines: int, blanks: int) -> None:
    tree = parse_expression("\n" * lines + " " * blanks + "f(a, 'b')")
    (call,) = tree.find_all(nodes.Call)
    (column,) = tree.find_all(exp.Column)
    (literal,) = tree.find_all(exp.Literal)
    assert position(call) == (lines + 1, blanks + 1)
    assert position(column) == (lines + 1, blanks + 3)
    assert position(literal) == (lines + 1, blanks + 6)
