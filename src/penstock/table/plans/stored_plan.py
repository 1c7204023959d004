"""A stored plan: the sinks of a job as relations, after all passes, with the ids of their operators."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

import penstock
from penstock.errors import PlanError
from penstock.redaction import HIDDEN, is_secret
from penstock.table.plans.codec import PlanDecoder, PlanEncoder
from penstock.table.relations import Relation, Scan, Sink

FORMAT = 1  # raised if plans of earlier versions need a conversion; all of them can always be read
PLANNED = "PLANNED"  # the hint of a sink that passes do not change

FunctionCode = Callable[[tuple[str, ...]], bytes]
TableOptions = Callable[[tuple[str, ...]], Mapping[str, str]]  # the options of a table of the catalog


def write_plan(sinks: Sequence[Sink]) -> str:
    """Returns the JSON text of sinks that were planned. Secrets of tables are not written."""
    hidden = [_with_options(sink, _hide) for sink in sinks]
    encoder = PlanEncoder(*hidden)
    plan = {
        "format": FORMAT,
        "penstock": penstock.__version__,
        "sinks": [encoder.encode(sink) for sink in hidden],
    }
    return json.dumps(plan, indent=1, ensure_ascii=False)


def read_plan(
    text: str, options: TableOptions, where: str = "The plan", functions: FunctionCode | None = None
) -> list[Sink]:
    """Returns the sinks of a JSON text. `options` returns those of a table of the catalog, for secrets; `functions` the pickled
    Python function of a name.

    Raises:
        PlanError: the text is no plan, or a newer version wrote it.
    """
    try:
        data = json.loads(text)
        version = data["format"]
        found = [] if version > FORMAT else [PlanDecoder(functions).decode(sink) for sink in data["sinks"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PlanError(
            "SQL_PLAN_FORMAT",
            f"{where} cannot be read: {type(error).__name__}: {error}. COMPILE PLAN writes such files. Plans of Flink are not "
            "read; compile the statement again.",
        ) from error
    if version > FORMAT:
        raise PlanError(
            "SQL_PLAN_FORMAT",
            f"{where} has format {version}, and this Penstock reads formats up to {FORMAT}. Run it with the version that wrote it "
            f"({data.get('penstock', 'unknown')}), or a newer one.",
        )
    return [_with_options(sink, lambda relation: _restore(relation, options)) for sink in found]


def plan_version(text: str) -> str:
    """Returns the version of Penstock that wrote a plan."""
    return str(json.loads(text).get("penstock", ""))


def _with_options(sink: Sink, change: Callable[[Any], Relation]) -> Sink:
    done: dict[int, Relation] = {}

    def changed(relation: Relation) -> Relation:
        if id(relation) not in done:
            new = relation.with_inputs(*(changed(one) for one in relation.inputs()))
            done[id(relation)] = change(new) if isinstance(new, Scan | Sink) else new
        return done[id(relation)]

    found = changed(sink)
    assert isinstance(found, Sink)
    return found


def _hide(relation: Any) -> Relation:
    table = relation.table if isinstance(relation, Scan) else relation.target
    return _replaced(relation, _hidden(relation.options), _hidden(table.options))


def _hidden(options: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((key, HIDDEN if is_secret(key) else value) for key, value in options)


def _restore(relation: Any, options: TableOptions) -> Relation:
    """Takes secrets from the table of the catalog."""
    table = relation.table if isinstance(relation, Scan) else relation.target
    if not any(value == HIDDEN for _, value in (*relation.options, *table.options)):
        return relation  # type: ignore[no-any-return]
    current = options(relation.path)
    missing = [k for k, v in (*relation.options, *table.options) if v == HIDDEN and k not in current]
    if missing:
        raise PlanError(
            "SQL_PLAN_SECRET",
            f"The plan does not contain the secret option '{missing[0]}' of table {'.'.join(relation.path)}. Create the table in "
            "the catalog with this option, then run the plan.",
        )

    def filled(given: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        return tuple((key, current[key] if value == HIDDEN else value) for key, value in given)

    return _replaced(relation, filled(relation.options), filled(table.options))


def _replaced(relation: Any, own: tuple[tuple[str, str], ...], of_table: tuple[tuple[str, str], ...]) -> Relation:
    name = "table" if isinstance(relation, Scan) else "target"
    table = msgspec.structs.replace(getattr(relation, name), options=of_table)
    found: Relation = msgspec.structs.replace(relation, options=own, **{name: table})
    return found
