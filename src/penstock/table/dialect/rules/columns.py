"""Rules of columns, constraints, watermarks and distributions."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import TokenType

from penstock.table.dialect.grammar.queries import FlinkParser
from penstock.table.dialect.rules.parts import column_names, column_path, comment
from penstock.table.dialect.statements.column import (
    Column,
    ColumnPlace,
    ComputedColumn,
    Constraint,
    Distribution,
    MetadataColumn,
    PhysicalColumn,
    TableSchema,
    Watermark,
)


def table_schema(p: FlinkParser) -> TableSchema:
    """Reads the columns of CREATE TABLE in parentheses, or only their names."""
    p.expect_symbol(TokenType.L_PAREN)
    if _names_only(p):
        names = tuple(p.comma_list(lambda: column_path(p)))
        p.expect_symbol(TokenType.R_PAREN)
        return TableSchema(identifiers=names)
    columns: list[Column] = []
    constraints: list[Constraint] = []
    watermarks: list[Watermark] = []
    for element in p.comma_list(lambda: _element(p)):
        if isinstance(element, Constraint):
            constraints.append(element)
        elif isinstance(element, Watermark):
            watermarks.append(element)
        else:
            columns.append(element)
    p.expect_symbol(TokenType.R_PAREN)
    return TableSchema(tuple(columns), tuple(constraints), one_watermark(p, watermarks))


def one_watermark(p: FlinkParser, watermarks: list[Watermark]) -> Watermark | None:
    if len(watermarks) > 1:
        p.fail_at("one WATERMARK", watermarks[1].line, watermarks[1].column_number)
    return watermarks[0] if watermarks else None


def column_list(p: FlinkParser) -> tuple[Column, ...]:
    """Reads columns in parentheses: INPUT and OUTPUT of a model."""
    return tuple(p.parenthesized(lambda: _column(p)))


def placed_elements(p: FlinkParser) -> tuple[tuple[ColumnPlace, ...], tuple[Constraint, ...], Watermark | None]:
    """Reads what ALTER TABLE adds or modifies: one element, or several in parentheses."""
    if p.at_symbol(TokenType.L_PAREN):
        elements = p.parenthesized(lambda: _placed_element(p))
    else:
        elements = [_placed_element(p)]
    columns = tuple(element for element in elements if isinstance(element, ColumnPlace))
    constraints = tuple(element for element in elements if isinstance(element, Constraint))
    return columns, constraints, one_watermark(p, [element for element in elements if isinstance(element, Watermark)])


def distribution(p: FlinkParser) -> Distribution:
    """Reads BY HASH (a, b) INTO 4 BUCKETS, behind DISTRIBUTED or DISTRIBUTION."""
    if p.at("INTO"):
        return Distribution(buckets=_buckets(p))
    p.expect("BY")
    method = p.take_one("HASH", "RANGE")
    columns = column_names(p)
    return Distribution(method, columns, _buckets(p) if p.at("INTO") else None)


def _buckets(p: FlinkParser) -> int:
    p.expect("INTO")
    count = p.unsigned_integer()
    p.expect("BUCKETS")
    return count


def _names_only(p: FlinkParser) -> bool:
    """Does a name follow that is followed by a comma or the end of the list?"""
    distance = 0
    while p.at_identifier(distance):
        distance += 1
        if not p.at_symbol(TokenType.DOT, distance):
            return p.at_symbol(TokenType.COMMA, distance) or p.at_symbol(TokenType.R_PAREN, distance)
        distance += 1
    return False


def _element(p: FlinkParser) -> Column | Constraint | Watermark:
    if p.at("WATERMARK"):
        return _watermark(p)
    if p.at("CONSTRAINT", "PRIMARY", "UNIQUE"):
        return _table_constraint(p)
    return _column(p)


def _placed_element(p: FlinkParser) -> ColumnPlace | Constraint | Watermark:
    element = _element(p)
    if isinstance(element, (Constraint, Watermark)):
        return element
    if p.take("FIRST"):
        return ColumnPlace(element, first=True)
    return ColumnPlace(element, after=column_path(p) if p.take("AFTER") else None)


def _watermark(p: FlinkParser) -> Watermark:
    token = p.next_token()
    p.expect("WATERMARK", "FOR")
    column = column_path(p)
    p.expect("AS")
    start = p.next_token().start
    expression = p.read_expression_without_query()
    return Watermark(column, expression, p.text_from(start), token.line, token.col)


def _column(p: FlinkParser) -> Column:
    token = p.next_token()
    name = column_path(p)
    if p.take("AS"):
        start = p.next_token().start
        expression = p.read_expression_without_query()
        text = p.text_from(start)
        return ComputedColumn(name, expression, text, comment(p), token.line, token.col)
    kind = p.column_type()
    if p.take("METADATA"):
        key = p.string("a key in single quotes") if p.take("FROM") else None
        virtual = p.take("VIRTUAL")
        return MetadataColumn(name, kind, key, virtual, comment(p), token.line, token.col)
    constraint = None
    if p.at("CONSTRAINT", "PRIMARY", "UNIQUE"):
        constraint = _constraint(p, lambda: (".".join(name),))
    return PhysicalColumn(name, kind, comment(p), constraint, token.line, token.col)


def _table_constraint(p: FlinkParser) -> Constraint:
    return _constraint(p, lambda: column_names(p))


def _constraint(p: FlinkParser, columns: Callable[[], tuple[str, ...]]) -> Constraint:
    token = p.next_token()
    name = p.identifier("the name of a constraint").name if p.take("CONSTRAINT") else None
    unique = p.expect_one("PRIMARY", "UNIQUE") == "UNIQUE"
    if not unique:
        p.expect("KEY")
    names = columns()
    enforced = None
    if p.take("NOT"):
        p.expect("ENFORCED")
        enforced = False
    elif p.take("ENFORCED"):
        enforced = True
    return Constraint(names, name, unique, enforced, token.line, token.col)
