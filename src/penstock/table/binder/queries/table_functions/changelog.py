"""Binds TO_CHANGELOG and FROM_CHANGELOG, which write the kind of a change into a column and read it from there."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.row import RowKind
from penstock.table.binder.queries.building import row_type
from penstock.table.binder.queries.context import Context
from penstock.table.dialect import nodes
from penstock.table.functions.catalogue import closest
from penstock.table.relations import FromChangelog, Relation, ToChangelog
from penstock.types.logical.kinds import STRING, CharType

NAMES = ("TO_CHANGELOG", "FROM_CHANGELOG")
_ARGUMENTS = ("INPUT", "OP", "OP_MAPPING")
_KINDS = [kind.name for kind in RowKind]  # INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE


def bind_changelog_function(context: Context, call: nodes.Call) -> Relation:
    """Binds a call of one of both functions."""
    arguments = _by_name(context, call)
    if "INPUT" not in arguments:
        raise context.refuse("SQL_FUNCTION", f"{call.name} needs a table: input => TABLE t.", call)
    relation = _input(context, call, arguments["INPUT"])
    column = _column(context, call, arguments.get("OP"))
    mapping = _mapping(context, call, arguments.get("OP_MAPPING"))
    if call.name.upper() == "TO_CHANGELOG":
        return _to_changelog(context, call, relation, column, mapping)
    return _from_changelog(context, call, relation, column, mapping)


def _to_changelog(
    context: Context, call: nodes.Call, relation: Relation, column: str, mapping: dict[str, str] | None
) -> Relation:
    fields = relation.row_type.fields
    if relation.row_type.index(column) is not None:
        raise context.refuse(
            "SQL_COLUMN", f"The table has a column '{column}' already. Write op => DESCRIPTOR(name).", call
        )
    codes = {kind: kind for kind in _KINDS} if mapping is None else {}
    for kinds, code in (mapping or {}).items():
        for kind in _parts(kinds):
            _check_kind(context, call, kind)
            codes[kind] = code
    return ToChangelog(
        input=relation,
        codes=tuple(codes.get(kind) for kind in _KINDS),
        row_type=row_type([column, *(f.name for f in fields)], [STRING, *(f.type for f in fields)]),
    )


def _from_changelog(
    context: Context, call: nodes.Call, relation: Relation, column: str, mapping: dict[str, str] | None
) -> Relation:
    fields = relation.row_type.fields
    index = relation.row_type.index(column)
    if index is None:
        near = closest(column, [f.name for f in fields])
        hint = f" Did you mean '{near}'?" if near else " Write op => DESCRIPTOR(name)."
        raise context.refuse("SQL_COLUMN", f"Column '{column}' not found in the table of FROM_CHANGELOG.{hint}", call)
    if not isinstance(fields[index].type, CharType):
        raise context.refuse(
            "SQL_TYPE", f"Column '{column}' has the kinds of changes, so that it must be a STRING.", call
        )
    codes = {kind: place for place, kind in enumerate(_KINDS)} if mapping is None else {}
    for texts, kind in (mapping or {}).items():
        _check_kind(context, call, kind)
        codes.update({text: _KINDS.index(kind) for text in _parts(texts)})
    if len({1, 2} & set(codes.values())) == 1:
        raise context.refuse(
            "SQL_FUNCTION",
            "The mapping of FROM_CHANGELOG has one of UPDATE_BEFORE and UPDATE_AFTER. An update has both rows, or is a DELETE and "
            "an INSERT.",
            call,
        )
    left = [f for place, f in enumerate(fields) if place != index]
    return FromChangelog(
        input=relation,
        column=index,
        codes=tuple(codes.items()),
        row_type=row_type([f.name for f in left], [f.type for f in left]),
    )


def _by_name(context: Context, call: nodes.Call) -> dict[str, exp.Expr]:
    found: dict[str, exp.Expr] = {}
    for place, argument in enumerate(call.expressions):
        if isinstance(argument, nodes.NamedArgument):
            name, value = argument.this.name.upper(), argument.expression
        else:
            name, value = (_ARGUMENTS[place] if place < len(_ARGUMENTS) else "", argument)
        if name not in _ARGUMENTS:
            known = ", ".join(_ARGUMENTS)
            raise context.refuse("SQL_FUNCTION", f"{call.name} has the arguments {known}, and no other.", argument)
        found[name] = value
    return found


def _input(context: Context, call: nodes.Call, node: exp.Expr) -> Relation:
    from penstock.table.binder.queries.query import bind_nested
    from penstock.table.binder.queries.tables import bind_table_name

    if node.args.get("partition_by"):
        raise context.refuse("SQL_FUNCTION", f"{call.name} takes a table without PARTITION BY.", node)
    inner = node.this if isinstance(node, nodes.TableArgument) else node
    if isinstance(inner, nodes.BoundTable):
        found = inner.args["this"]
        assert isinstance(found, Relation)
        return found
    if isinstance(inner, exp.Table):
        return bind_table_name(context, inner)[0]
    if isinstance(inner, exp.Query | exp.Subquery | nodes.ExplicitTable):
        return bind_nested(replace(context.alone(), ctes=context.ctes), inner)
    raise context.refuse("SQL_FUNCTION", f"The input of {call.name} is a table: input => TABLE t.", node)


def _column(context: Context, call: nodes.Call, node: exp.Expr | None) -> str:
    if node is None:
        return "op"
    if not isinstance(node, nodes.Descriptor) or len(node.expressions) != 1:
        raise context.refuse("SQL_FUNCTION", f"{call.name} takes the column as op => DESCRIPTOR(name).", node)
    return str(node.expressions[0].name)


def _mapping(context: Context, call: nodes.Call, node: exp.Expr | None) -> dict[str, str] | None:
    if node is None:
        return None
    values = node.expressions if isinstance(node, nodes.MapConstructor) else []
    if not values or not all(isinstance(v, exp.Literal) and v.is_string for v in values):
        raise context.refuse(
            "SQL_FUNCTION", f"{call.name} takes the mapping as a map of texts: MAP['I', 'INSERT'].", node
        )
    texts = [str(v.this) for v in values]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _check_kind(context: Context, call: nodes.Call, kind: str) -> None:
    if kind not in _KINDS:
        raise context.refuse(
            "SQL_FUNCTION",
            f"'{kind}' is no kind of change. Known are {', '.join(_KINDS)}, and several with commas.",
            call,
        )
