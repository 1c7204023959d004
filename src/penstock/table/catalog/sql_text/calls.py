"""Writes calls of functions, with the keywords that some of them have between their arguments."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.table.catalog.sql_text.expressions import ExpressionText, name_text, string_text, type_text
from penstock.table.catalog.sql_text.operator_names import EXTRACTED, PLAIN, STANDARD
from penstock.table.dialect import nodes


def call_text(writer: ExpressionText, node: nodes.Call) -> str:
    """Returns the text of a call."""
    name = node.name.upper()
    if node.args.get("path"):
        path = ".".join(name_text(part) for part in [*node.args["path"], node.name])
        return f"{path}({_arguments(writer, node)})"
    if node.args.get("parentheses") is False:
        return name
    special = _SPECIAL.get(name)
    if special is not None and (writer.resolved or special is not _nullif):
        return special(writer, node)
    if writer.resolved and name in EXTRACTED and len(node.expressions) == 1:
        return f"EXTRACT({EXTRACTED[name]} FROM {writer.text(node.expressions[0])})"
    shown = name if name in (PLAIN if writer.resolved else STANDARD) else name_text(node.name)
    flag = f"{node.args['flag']} " if node.args.get("flag") else ""
    nulls = f" {node.args['nulls']} NULLS" if node.args.get("nulls") and name != "ARRAY_AGG" else ""
    return f"{flag}{shown}({_arguments(writer, node)}){nulls}"


def _arguments(writer: ExpressionText, node: nodes.Call) -> str:
    quantifier = f"{node.args['quantifier']} " if node.args.get("quantifier") else ""
    text = quantifier + ", ".join(_argument(writer, part) for part in node.expressions)
    if node.args.get("nulls") and node.name.upper() == "ARRAY_AGG":
        text += f" {node.args['nulls']} NULLS"
    if node.args.get("order") is not None:
        text += f" {writer.order(node.args['order'])}"
    if node.args.get("separator"):
        text += f" SEPARATOR {string_text(node.args['separator'])}"
    return text


def _argument(writer: ExpressionText, part: exp.Expr) -> str:
    if isinstance(part, nodes.NamedArgument):
        return f"{name_text(part.this.name)} => {_argument(writer, part.expression)}"
    if isinstance(part, nodes.DefaultArgument):
        return "DEFAULT"
    if isinstance(part, nodes.Descriptor):
        return f"DESCRIPTOR({', '.join(name_text(e.name) for e in part.expressions)})"
    if isinstance(part, nodes.TableArgument):
        return _table(writer, part)
    return writer.text(part)


def _table(writer: ExpressionText, part: nodes.TableArgument) -> str:
    inner = part.this
    if isinstance(inner, exp.Table):
        text = f"({writer.subquery(nodes.ExplicitTable(this=inner.copy()))})"
    else:
        text = f"({writer.subquery(inner)})"
    if part.args.get("partition_by"):
        names = ", ".join(name_text(column.name) for column in part.args["partition_by"])
        text += f" PARTITION BY {names}" if len(part.args["partition_by"]) == 1 else f" PARTITION BY ({names})"
    if part.args.get("order") is not None:
        text += f" {writer.order(part.args['order'])}"
    return text


def _extract(writer: ExpressionText, node: nodes.Call) -> str:
    return f"EXTRACT({node.args['unit']} FROM {writer.text(node.expressions[0])})"


def _trim(writer: ExpressionText, node: nodes.Call) -> str:
    value, *rest = node.expressions
    what = writer.text(rest[0]) if rest else "' '"
    return f"TRIM({node.args.get('flag') or 'BOTH'} {what} FROM {writer.text(value)})"


def _position(writer: ExpressionText, node: nodes.Call) -> str:
    what, where, *start = (writer.text(e) for e in node.expressions)
    return f"POSITION({what} IN {where}{f' FROM {start[0]}' if start else ''})"


def _overlay(writer: ExpressionText, node: nodes.Call) -> str:
    value, placing, start, *length = (writer.text(e) for e in node.expressions)
    return f"OVERLAY({value} PLACING {placing} FROM {start}{f' FOR {length[0]}' if length else ''})"


def _floor(writer: ExpressionText, node: nodes.Call) -> str:
    name = "FLOOR" if node.name.upper() == "FLOOR" else "CEIL"
    unit = f" TO {node.args['unit']}" if node.args.get("unit") else ""
    return f"{name}({writer.texts(node.expressions)}{unit})"


def _with_unit(writer: ExpressionText, node: nodes.Call) -> str:
    return f"{node.name.upper()}({node.args['unit']}, {writer.texts(node.expressions)})"


def _nullif(writer: ExpressionText, node: nodes.Call) -> str:
    if len(node.expressions) != 2:
        return f"NULLIF({writer.texts(node.expressions)})"
    value, other = node.expressions
    test = writer.text(exp.EQ(this=value.copy(), expression=other.copy()))
    return f"CASE WHEN {test} THEN NULL ELSE {writer.text(value)} END"


def _behaviors(writer: ExpressionText, node: nodes.Call) -> str:
    text = ""
    for key, word in (("on_empty", "EMPTY"), ("on_error", "ERROR")):
        behavior = node.args.get(key)
        if behavior is not None:
            value = behavior.args.get("expression")
            text += f" {behavior.this}{'' if value is None else f' {writer.text(value)}'} ON {word}"
    return text


def _json_value(writer: ExpressionText, node: nodes.Call) -> str:
    returning = node.args.get("returning")
    shown = "" if returning is None else f" RETURNING {type_text(returning.this)}"
    return f"{node.name.upper()}({writer.texts(node.expressions)}{shown}{_behaviors(writer, node)})"


def _json_query(writer: ExpressionText, node: nodes.Call) -> str:
    returning = node.args.get("returning")
    shown = "" if returning is None else f" RETURNING {type_text(returning.this)}"
    wrapper = node.args.get("wrapper") or "WITHOUT"
    wrapper = wrapper if "WRAPPER" in wrapper else f"{wrapper} ARRAY WRAPPER"
    behaviors = "".join(
        f" {node.args[key].this if node.args.get(key) is not None else 'NULL'} ON {word}"
        for key, word in (("on_empty", "EMPTY"), ("on_error", "ERROR"))
    )
    return f"JSON_QUERY({writer.texts(node.expressions)}{shown} {wrapper}{behaviors})"


def _json_object(writer: ExpressionText, node: nodes.Call) -> str:
    pairs = [f"KEY {writer.text(p.this)} VALUE {writer.text(p.expression)}" for p in node.expressions]
    on_null = node.args.get("on_null") or "NULL"
    return f"{node.name.upper()}({', '.join(pairs)} {on_null} ON NULL)" if pairs else f"{node.name.upper()}()"


def _json_array(writer: ExpressionText, node: nodes.Call) -> str:
    on_null = node.args.get("on_null") or "ABSENT"
    return f"{node.name.upper()}({writer.texts(node.expressions)} {on_null} ON NULL)"


_SPECIAL: dict[str, Callable[[ExpressionText, nodes.Call], str]] = {
    "EXTRACT": _extract,
    "TRIM": _trim,
    "POSITION": _position,
    "OVERLAY": _overlay,
    "FLOOR": _floor,
    "CEIL": _floor,
    "CEILING": _floor,
    "TIMESTAMPADD": _with_unit,
    "TIMESTAMPDIFF": _with_unit,
    "NULLIF": _nullif,
    "JSON_VALUE": _json_value,
    "JSON_EXISTS": _json_value,
    "JSON_QUERY": _json_query,
    "JSON_OBJECT": _json_object,
    "JSON_OBJECTAGG": _json_object,
    "JSON_ARRAY": _json_array,
    "JSON_ARRAYAGG": _json_array,
}
