"""A CEP pattern and its matches."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from penstock.cep import CEP, AfterMatchSkipStrategy, Match, Pattern, WithinType
from penstock.connectors import At, Mark
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.functions import OutputTag
from tests.conformance.case import Case, NotRunnableError
from tests.conformance.job import MAIN, Batch, BatchResult, Job, side

TIMEOUTS = "timeouts"


@dataclass(frozen=True)
class Event:
    ref: str
    id: int
    name: str
    price: float


@dataclass(frozen=True)
class SubEvent(Event):
    volume: float


# -- the specification of a case


def _event(entry: dict[str, Any]) -> Event:
    ref, values = entry["ref"], entry["value"]
    return Event(ref, *values) if len(values) == 3 else SubEvent(ref, *values)


class FieldCondition:
    """A condition of a case: comparisons of event fields."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._tests = [_test(field, wanted) for field, wanted in spec.items()]

    def __call__(self, event: Event) -> bool:
        return all(test(event) for test in self._tests)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True)
class _Compared:
    field: str
    compare: Callable[[Any, Any], bool]
    wanted: Any

    def __call__(self, event: Event) -> bool:
        return self.compare(getattr(event, self.field), self.wanted)


def _contains(text: str, part: str) -> bool:
    return part in text


def _starts(text: str, part: str) -> bool:
    return text.startswith(part)


_OF_NAMES = {"equals": operator.eq, "contains": _contains, "starts_with": _starts, "not_equals": operator.ne}


def _test(field: str, wanted: Any) -> _Compared:
    name, _, how = field.partition("_")
    if how in _OF_NAMES:
        return _Compared(name, _OF_NAMES[how], wanted)
    found = re.fullmatch(r"(>=|<=|==|!=|>|<)\s*(-?[\d.]+)", str(wanted))
    if found is None or field not in ("price", "volume", "id"):
        raise NotRunnableError(f"the condition {field}: {wanted} is not understood")
    return _Compared(field, _COMPARISONS[found[1]], float(found[2]))


def pattern_of(steps: list[dict[str, Any]], skip: AfterMatchSkipStrategy | None = None) -> Pattern[Any]:
    """Returns the pattern of a case, which is specified step by step."""
    made: Any = None
    for spec in steps:
        made = _applied(made, spec, skip)
    return made  # type: ignore[no-any-return]


def _applied(made: Any, spec: dict[str, Any], skip: AfterMatchSkipStrategy | None) -> Any:
    op = re.sub(r"[A-Z]", lambda m: f"_{m[0].lower()}", spec["op"])
    inner = spec.get("group") or spec.get("pattern")
    named: Any = pattern_of(inner) if inner else spec.get("name")
    if op == "begin":
        return Pattern.begin(named, skip)
    if op in ("next", "followed_by", "followed_by_any", "not_next", "not_followed_by"):
        return getattr(made, op)(named)
    if op in ("where", "or", "or_where", "until"):
        return getattr(made, {"or": "or_where"}.get(op, op))(FieldCondition(spec["cond"]))
    if op == "subtype":
        return made.subtype(SubEvent)
    if op == "within":
        previous = str(spec.get("within_type", "")).startswith("PREVIOUS")
        return made.within(spec["ms"], WithinType.PREVIOUS_AND_CURRENT if previous else WithinType.FIRST_AND_LAST)
    if op in ("times", "times_or_more", "one_or_more"):
        numbers = spec.get("n", [])
        window = {"window_time": spec["window_ms"]} if spec.get("window_ms") else {}
        return getattr(made, op)(*(numbers if isinstance(numbers, list) else [numbers]), **window)
    if op in ("optional", "greedy", "consecutive", "allow_combinations"):
        return getattr(made, op)()
    raise NotRunnableError(f"the step {spec['op']} is not known")


def skip_of(case: Case) -> AfterMatchSkipStrategy:
    first = case.params["pattern"][0]
    spec = first.get("skip") or case.params.get("skip_strategy") or "noSkip"
    to = first.get("skip_to") or case.params.get("skip_to")
    kinds = {
        "noSkip": AfterMatchSkipStrategy.no_skip,
        "skipToNext": AfterMatchSkipStrategy.skip_to_next,
        "skipPastLastEvent": AfterMatchSkipStrategy.skip_past_last_event,
    }
    to_pattern = {
        "skipToFirst": AfterMatchSkipStrategy.skip_to_first,
        "skipToLast": AfterMatchSkipStrategy.skip_to_last,
    }
    if spec in kinds:
        return kinds[spec]()
    if spec in to_pattern and to:
        return to_pattern[spec](to)
    raise NotRunnableError(f"the skip strategy {spec} is not known")


# -- the job


def refs_of(match: Match[Event]) -> list[str]:
    return [event.ref for events in match.values() for event in events]


def describe_timeout(match: Match[Event], timestamp: int) -> list[Any]:
    return [{name: [event.ref for event in events] for name, events in match.items()}, timestamp]


def batches_of(case: Case) -> list[Batch]:
    """Returns one batch per event, each followed by a watermark."""
    entries = [e for e in case.input if "value" in e]
    stamps: list[Any] = [e.get("ts") for e in entries]
    if None in stamps or any(a > b for a, b in pairwise(stamps)):
        stamps = list(range(1, len(entries) + 1))  # in the order of the case, whatever their timestamps
    batches = []
    for at, (entry, stamp) in enumerate(zip(entries, stamps, strict=True)):
        reached = stamps[at + 1] - 1 if at + 1 < len(stamps) else stamp
        batches.append(Batch({0: [At(_event(entry), stamp), Mark(reached)]}, inputs=at + 1))
    return batches


def job(case: Case) -> Job:
    pattern = pattern_of(case.params["pattern"], skip_of(case))
    timeouts = "expected_timeouts" in case.fields

    def build(env: StreamExecutionEnvironment, streams: list[DataStream[Any]]) -> DataStream[Any]:
        found = CEP.pattern(streams[0], pattern)
        if timeouts:
            return found.select(refs_of, timed_out_tag=OutputTag(TIMEOUTS), timeout_function=describe_timeout)
        return found.select(refs_of)

    return Job(build, batches_of(case), tags=(TIMEOUTS,) if timeouts else ())


def check(case: Case, results: list[BatchResult]) -> None:
    """Checks the matches as sets of events, and the timed-out partial matches."""
    order = {entry["ref"]: at for at, entry in enumerate(case.input) if "ref" in entry}

    def sorted_refs(match: list[str]) -> list[str]:
        return sorted(match, key=order.__getitem__)

    found = [sorted_refs(value) for batch in results for value, _ in batch.outputs[MAIN]]
    assert sorted(found) == sorted(sorted_refs(match) for match in case.expected)
    if "expected_timeouts" in case.fields:
        over = [value for batch in results for value, _ in batch.outputs[side(TIMEOUTS)]]
        assert sorted(over, key=repr) == sorted(case.fields["expected_timeouts"], key=repr)
