"""What the prompt proposes, colours, and takes for complete."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from pygments.token import Token

from penstock.cli.sql.prompt.complete_text import is_complete
from penstock.cli.sql.prompt.completion import SqlCompleter
from penstock.cli.sql.prompt.highlight import FlinkSqlLexer
from penstock.cli.sql.session import new_session
from penstock.table.environment.dispatch import execute
from penstock.table.environment.session import Session


@pytest.fixture(scope="module")
def session() -> Session:
    found = new_session({})
    execute(found, "CREATE TABLE orders (order_id INT, price DOUBLE) WITH ('connector' = 'datagen')")
    execute(found, "CREATE VIEW cheap AS SELECT order_id FROM orders")
    execute(found, "CREATE DATABASE archive")
    return found


def proposed(session: Session, text: str) -> list[str]:
    """The proposals at the place of |, or at the end."""
    cursor = text.index("|") if "|" in text else len(text)
    document = Document(text.replace("|", ""), cursor)
    return [found.text for found in SqlCompleter(session).get_completions(document, CompleteEvent())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEL", ["SELECT"]),
        ("sel", ["select"]),
        ("SELECT * FROM ord", ["orders"]),
        ("INSERT INTO ch", ["cheap"]),
        ("SELECT pri| FROM orders", ["price", "primary"]),
        ("SELECT order_", ["order_id"]),
        ("SELECT o.| FROM orders AS o", ["order_id", "price"]),
        ("SELECT orders.pr| FROM orders", ["price"]),
        ("SHOW TABLES; SELECT REGEXP_EX", ["REGEXP_EXTRACT", "REGEXP_EXTRACT_ALL"]),
        ("USE CATALOG ", ["default_catalog"]),
        ("USE arch", ["archive"]),
        ("SET 'sql-client.execution.res", ["sql-client.execution.result-mode"]),
        ("SET 'sql-client.execution.result-mode' = 'table", ["tableau"]),
        ("RESET 'parallelism.", ["parallelism.default"]),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'files", ["filesystem"]),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'print', 'print-", ["print-identifier"]),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'format' = 'par", ["parquet"]),
        ("CREATE TABLE t (a INT) WITH ('format' = 'json', 'json.ig", ["json.ignore-parse-errors"]),
        ("SELECT 'some te", []),
        ("", []),
    ],
)
def test_proposals(session: Session, text: str, expected: list[str]) -> None:
    found = proposed(session, text)
    assert [word for word in found if word in expected] == expected
    if len(expected) < 2:
        assert found == expected


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1 -- done;", False),
        ("SELECT 'a;", False),
        ("SELECT 1 /* ;", False),
        ("exit", True),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", False),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END;", True),
        ("BEGIN STATEMENT SET;", True),
    ],
)
def test_complete_texts(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_colours() -> None:
    text = "SELECT upper(`a`) FROM t -- all\nWHERE x > 'it''s' /*+ OPTIONS('a'='b') */ AND watermark = 1.5 /* no"
    tokens = {word: kind for kind, word in FlinkSqlLexer().get_tokens(text)}
    assert tokens["FROM"] is Token.Keyword
    assert tokens["'it''s'"] is Token.Literal.String.Single
    assert tokens["`a`"] is Token.Name.Quoted
    assert tokens["-- all"] is Token.Comment.Single
    assert tokens["/*+ OPTIONS('a'='b') */"] is Token.Comment.Special
    assert tokens["1.5"] is Token.Literal.Number
    assert tokens["t"] is Token.Name
    assert "".join(word for _, word in FlinkSqlLexer().get_tokens(text)).rstrip("\n") == text
