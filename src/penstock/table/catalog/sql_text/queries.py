"""Writes queries with full names of tables and columns, as Flink stores the query of a view.

The text means the same in every database, and a star in it stays what it was when the view was created.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from penstock.table.binder.queries.lookup import ResolvedTable, ResolvedView
from penstock.table.catalog.sql_text.calls import call_text
from penstock.table.catalog.sql_text.expressions import ExpressionText, name_text, string_text
from penstock.table.dialect import nodes
from penstock.table.dialect.position import extent

_WINDOWS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
_SET_WORDS = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


class Lookup(Protocol):
    """Finds tables by name."""

    def find_table(self, parts: tuple[str, ...]) -> ResolvedTable | ResolvedView | None: ...


def _needs_parentheses(operand: exp.Expr, parent: exp.SetOperation, right: bool) -> bool:
    """Whether an operand of UNION, INTERSECT or EXCEPT means something else without its parentheses.

    Set operations associate to the left, and INTERSECT binds more closely than the others.
    """
    inner = operand.this if isinstance(operand, exp.Subquery) else operand
    if any(inner.args.get(part) is not None for part in ("order", "limit", "offset", "fetch", "with_")):
        return True
    if not isinstance(inner, exp.SetOperation):
        return False
    closer = isinstance(inner, exp.Intersect)
    if isinstance(parent, exp.Intersect):
        return right or not closer
    return right and not closer


def expanded_query(query: exp.Expr, text: str, start: int, lookup: Lookup) -> str:
    """Returns the text of a query with full names.

    text, start: the text of the statement, and where the query begins in it. If the query has parts that cannot be written in
    Flink's form, it stays as written, and only its tables get full names.
    """
    try:
        return _Writer(lookup).query(query, _Names()).text
    except NotImplementedError:
        return _with_full_tables(query, text, start, lookup)


def _with_full_tables(query: exp.Expr, text: str, start: int, lookup: Lookup) -> str:
    ctes = {cte.alias for cte in query.find_all(exp.CTE)}
    end = len(text)
    parts: list[str] = []
    for table in sorted(query.find_all(exp.Table), key=lambda t: -t.meta.get("start", -1)):
        names = tuple(part.name for part in table.parts)
        place = extent(
            exp.Table(**{k: v.copy() for k, v in table.args.items() if k in ("this", "db", "catalog") and v})
        )
        found = None if len(names) == 1 and names[0] in ctes else lookup.find_table(names)
        if found is None or place is None:
            continue
        full = ".".join(name_text(part) for part in found.path)
        aliased = table.args.get("alias") is not None or not isinstance(table.parent, exp.From | exp.Join)
        parts[:0] = [full if aliased else f"{full} AS {name_text(names[-1])}", text[place[1] : end]]
        end = place[0]
    return (text[start:end] + "".join(parts)).rstrip().rstrip(";")


@dataclass
class _Written:
    """The text of a query and the names of its columns."""

    text: str
    columns: list[str]


@dataclass
class _Names:
    """What names mean: the tables of FROM by alias, the queries of WITH, and the names of the query around."""

    tables: list[tuple[str, list[str]]] = field(default_factory=list)
    ctes: dict[str, list[str]] = field(default_factory=dict)
    outer: _Names | None = None
    joined: dict[str, list[str]] = field(default_factory=dict)  # columns of USING: the tables that have them

    def inner(self) -> _Names:
        """Returns the names of a query inside an expression."""
        return _Names(ctes=self.ctes, outer=self)

    def resolve(self, parts: list[str]) -> list[str]:
        """Returns the full name of a column."""
        aliases = [alias for alias, _ in self.tables]
        for length in range(1, len(parts)):
            if parts[length - 1] in aliases and (length > 1 or not self._owners(parts[0]) or parts[0] in aliases):
                return parts[length - 1 :]
        owners = self._owners(parts[0])
        if len(owners) == 1:
            return [owners[0], *parts]
        if not owners and self.outer is not None:
            return self.outer.resolve(parts)
        if len(owners) > 1:
            raise NotImplementedError("a column of USING")
        return parts

    def _owners(self, name: str) -> list[str]:
        return [alias for alias, columns in self.tables if name in columns]


class _Writer:
    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._numbers = itertools.count()

    # -- queries

    def query(self, node: exp.Expr, names: _Names) -> _Written:
        ctes, names = self._with(node, names)
        if isinstance(node, exp.Select):
            written = self._select(node, names)
        elif isinstance(node, exp.SetOperation):
            written = self._set_operation(node, names)
        elif isinstance(node, exp.Values):
            written = self._values(node, names)
        elif isinstance(node, nodes.ExplicitTable):
            written = self._select(_select_all(node.this), names)
        elif isinstance(node, exp.Subquery):
            written = self.query(node.this, names)
        else:
            raise NotImplementedError(type(node).__name__)
        text = written.text
        if not isinstance(node, exp.Select):
            text += self._order_and_limit(node, _Names([("", written.columns)]), written.columns)
        return _Written(ctes + text, written.columns)

    def _with(self, node: exp.Expr, names: _Names) -> tuple[str, _Names]:
        clause = node.args.get("with_")
        if clause is None:
            return "", names
        if clause.args.get("recursive"):
            raise NotImplementedError("WITH RECURSIVE")
        names = _Names(names.tables, dict(names.ctes), names.outer)
        parts = []
        for cte in clause.expressions:
            written = self.query(cte.this, _Names(ctes=names.ctes))
            columns = [c.name for c in cte.args["alias"].columns]
            listed = f" ({_listed(columns)})" if columns else ""
            parts.append(f"{name_text(cte.alias)}{listed} AS ({written.text})")
            names.ctes[cte.alias] = columns or written.columns
        return f"WITH {', '.join(parts)} ", names

    def _set_operation(self, node: exp.SetOperation, names: _Names) -> _Written:
        left = self.query(node.this, names.inner())
        right = self.query(node.expression, names.inner())
        word = _SET_WORDS[type(node)] + ("" if node.args.get("distinct") else " ALL")
        first = f"({left.text})" if _needs_parentheses(node.this, node, right=False) else left.text
        second = f"({right.text})" if _needs_parentheses(node.expression, node, right=True) else right.text
        return _Written(f"{first}\n{word}\n{second}", left.columns)

    def _values(self, node: exp.Values, names: _Names) -> _Written:
        writer = self._expressions(names)
        rows = [writer.text(row) for row in node.expressions]
        count = len(node.expressions[0].expressions)
        return _Written("VALUES " + ",\n".join(rows), [f"EXPR${i}" for i in range(count)])

    # -- SELECT

    def _expressions(self, names: _Names) -> ExpressionText:
        return ExpressionText(lambda query: self.query(query, names.inner()).text, names.resolve)

    def _select(self, node: exp.Select, names: _Names) -> _Written:
        if node.args.get("qualify") is not None:
            raise NotImplementedError("QUALIFY")
        names = _Names(ctes=names.ctes, outer=names.outer)
        source = self._from(node, names) if node.args.get("from_") is not None else ""
        writer = self._expressions(names)
        items, columns = self._items(node, names, writer)
        hint = node.args.get("hint")
        text = "SELECT "
        if hint is not None:
            text = f"SELECT\n{_hints(hint.expressions)}\n"
        if node.args.get("distinct") is not None:
            text += "DISTINCT "
        text += ", ".join(items)
        if source:
            text += f"\nFROM {source}"
        if node.args.get("where") is not None:
            text += f"\nWHERE {writer.text(node.args['where'].this)}"
        if node.args.get("group") is not None:
            text += f"\nGROUP BY {', '.join(_grouping(writer, g) for g in node.args['group'].expressions)}"
        if node.args.get("having") is not None:
            text += f"\nHAVING {writer.text(node.args['having'].this)}"
        if node.args.get("windows"):
            windows = [f"{name_text(w.this.name)} AS ({writer.window_parts(w)})" for w in node.args["windows"]]
            text += f"\nWINDOW {', '.join(windows)}"
        return _Written(text + self._order_and_limit(node, names, columns), columns)

    def _items(self, node: exp.Select, names: _Names, writer: ExpressionText) -> tuple[list[str], list[str]]:
        items: list[str] = []
        columns: list[str] = []
        for item in node.expressions:
            star = _star(item)
            if star is not None:
                for alias, known in names.tables:
                    if star in ("", alias):
                        items += [f"{name_text(alias)}.{name_text(c)}" for c in known]
                        columns += known
                continue
            items.append(writer.text(item))
            if isinstance(item, exp.Alias):
                columns.append(item.alias)
            elif isinstance(item, exp.Column):
                columns.append(item.parts[-1].name)
            elif isinstance(item, exp.Dot):
                columns.append(item.expression.name)
            else:
                columns.append(f"EXPR${len(columns)}")
        return items, columns

    def _order_and_limit(self, node: exp.Expr, names: _Names, columns: Sequence[str]) -> str:
        text = ""
        order = node.args.get("order")
        if order is not None:

            def resolve(parts: list[str]) -> list[str]:
                return parts if len(parts) == 1 and parts[0] in columns else names.resolve(parts)

            text += f"\n{ExpressionText(lambda q: self.query(q, names.inner()).text, resolve).order(order)}"
        if node.args.get("offset") is not None:
            text += f"\nOFFSET {node.args['offset'].expression.name} ROWS"
        if node.args.get("limit") is not None:
            text += f"\nFETCH NEXT {node.args['limit'].expression.name} ROWS ONLY"
        return text

    # -- FROM

    def _from(self, node: exp.Select, names: _Names) -> str:
        text = self._table(node.args["from_"].this, names)
        for join in node.args.get("joins") or ():
            if join.args.get("method") or join.args.get("using"):
                raise NotImplementedError("NATURAL and USING")
            table = self._table(join.this, names)
            if join.args.get("kind") == "COMMA":
                text += f",\n{table}"
                continue
            word = join.args.get("side") or join.args.get("kind") or "INNER"
            text += f"\n{word} JOIN {table}"
            if join.args.get("on") is not None:
                text += f" ON {self._expressions(names).text(join.args['on'])}"
        return text

    def _table(self, node: exp.Expr, names: _Names) -> str:
        """Writes a table and adds its columns to the names."""
        if node.args.get("sample") is not None or node.args.get("version") is not None:
            raise NotImplementedError("TABLESAMPLE and FOR SYSTEM_TIME")
        hints = ""
        alias = node.args.get("alias")
        if isinstance(node, exp.Table):
            text, columns = self._named(node, names)
            name = alias.name if alias is not None else node.name
            if node.args.get("hints"):
                hints = f"\n{_hints(node.args['hints'])}"
        else:
            name = alias.name if alias is not None else f"EXPR${next(self._numbers)}"
            if isinstance(node, exp.Subquery):
                written = self.query(node.this, _Names(ctes=names.ctes))
                text, columns = f"({written.text})", written.columns
            elif isinstance(node, nodes.TableFunction):
                text, columns = self._table_function(node, names)
            elif isinstance(node, exp.Unnest) and alias is not None and alias.columns:
                text, columns = f"UNNEST({self._expressions(names).texts(node.expressions)})", []
                text += " WITH ORDINALITY" if node.args.get("offset") else ""
            else:
                raise NotImplementedError(type(node).__name__)
        listed = [c.name for c in alias.columns] if alias is not None else []
        names.tables.append((name, listed or columns))
        if hints and alias is None:
            return text + hints
        return f"{text}{hints} AS {name_text(name)}{f' ({_listed(listed)})' if listed else ''}"

    def _named(self, node: exp.Table, names: _Names) -> tuple[str, list[str]]:
        parts = tuple(part.name for part in node.parts)
        if len(parts) == 1 and parts[0] in names.ctes:
            return name_text(parts[0]), names.ctes[parts[0]]
        found = self._lookup.find_table(parts)
        if found is None:
            raise NotImplementedError("an unknown table")
        row_type = found.view.row_type if isinstance(found, ResolvedView) else found.table.row_type
        return ".".join(name_text(part) for part in found.path), [f.name for f in row_type.fields]

    def _table_function(self, node: nodes.TableFunction, names: _Names) -> tuple[str, list[str]]:
        call = node.this
        if call.name.upper() not in _WINDOWS or node.args.get("lateral"):
            raise NotImplementedError("a table function")
        columns: list[str] = []
        for table in call.find_all(nodes.TableArgument):
            inner = nodes.ExplicitTable(this=table.this.copy()) if isinstance(table.this, exp.Table) else table.this
            columns = self.query(inner, _Names(ctes=names.ctes)).columns
        if not columns:
            raise NotImplementedError("a window without a table")
        writer = ExpressionText(lambda query: self.query(query, _Names(ctes=names.ctes)).text)
        return f"TABLE({call_text(writer, call)})", [*columns, "window_start", "window_end", "window_time"]


def _select_all(table: exp.Expr) -> exp.Select:
    select = exp.Select(expressions=[exp.Star()])
    select.set("from_", exp.From(this=table.copy()))
    return select


def _star(item: exp.Expr) -> str | None:
    """The alias before .*, an empty text for a star alone, and None for anything else."""
    if isinstance(item, exp.Star):
        return ""
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        return item.parts[-2].name
    return None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(name_text(name) for name in names)


def _hints(hints: Sequence[exp.Expr]) -> str:
    return f"/*+ {', '.join(_hint(hint) for hint in hints)} */"


def _hint(hint: exp.Expr) -> str:
    options = []
    for option in hint.args.get("expressions") or ():
        if isinstance(option, nodes.KeyValue):
            key = option.this
            shown = string_text(key.name) if isinstance(key, exp.Literal) else name_text(key.name)
            options.append(f"{shown} = {string_text(option.expression.name)}")
        elif isinstance(option, exp.Identifier):
            options.append(name_text(option.name))
        else:
            options.append(ExpressionText().text(option))
    return f"{name_text(hint.this)}({', '.join(options)})"


def _grouping(writer: ExpressionText, node: exp.Expr) -> str:
    if isinstance(node, exp.GroupingSets):
        return f"GROUPING SETS({', '.join(_grouping(writer, g) for g in node.expressions)})"
    if isinstance(node, exp.Cube | exp.Rollup):
        word = "CUBE" if isinstance(node, exp.Cube) else "ROLLUP"
        return f"{word}({writer.texts(node.expressions)})"
    if isinstance(node, nodes.RowConstructor) and not node.args.get("explicit"):
        return f"({writer.texts(node.expressions)})"
    return writer.text(node)
