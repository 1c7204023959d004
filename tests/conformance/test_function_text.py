"""The parser of function texts accepts equivalent texts and rejects unknown ones."""

from __future__ import annotations

import pytest

from tests.conformance.case import NotRunnableError
from tests.conformance.function_text import read
from tests.conformance.statements import (
    EVENT,
    PROCESSING,
    Check,
    Choice,
    Clear,
    Emit,
    EmitEntries,
    Literal,
    Put,
    ReadEntries,
    Statement,
    Store,
    Template,
    Time,
    Timer,
    Variable,
)

VALUE, WATERMARK, NOW, TIMER = Variable("value"), Variable("watermark"), Variable("now"), Variable("timer")


def statements(text: str, section: str = "element", tags: list[str] | None = None) -> list[Statement]:
    return read(text, tags or []).sections[section]


@pytest.mark.parametrize(
    "text",
    [
        "on element: emit it, register an event timer at watermark+5",
        "emit it, register an event timer at watermark+5",
        "emit v and register an event-time timer for the current watermark + 5",
        "on each element: emit the element; register event watermark +5.",
        "element: emit <v>, then register the event time timer at wm+5",
    ],
)
def test_equivalent_texts(text: str) -> None:
    assert statements(text) == [Emit(VALUE), Timer(EVENT, Time(WATERMARK, 5))]


def test_sections() -> None:
    words = read("broadcast v: emit v; keyed: emit it; on timer: emit t; on event timer: emit 1", [])
    assert words.sections == {
        "broadcast": [Emit(VALUE)],
        "element": [Emit(VALUE)],
        "timer": [Emit(TIMER)],
        "event timer": [Emit(Literal(1))],
    }


def test_a_verb_and_a_domain_hold_until_the_next() -> None:
    assert statements("register proc 3, event timers at 4 and 6, then delete proc 3 and event 4") == [
        Timer(PROCESSING, Time(None, 3)),
        Timer(EVENT, Time(None, 4)),
        Timer(EVENT, Time(None, 6)),
        Timer(PROCESSING, Time(None, 3), delete=True),
        Timer(EVENT, Time(None, 4), delete=True),
    ]


def test_remarks_in_parentheses_are_not_read() -> None:
    assert statements("register a processing timer at now+5 (now=0)") == [Timer(PROCESSING, Time(NOW, 5))]


def test_a_text_with_values_in_it() -> None:
    assert statements('emit "<v>, then <wm>; it"') == [
        Emit(Template((VALUE, Literal(", then "), WATERMARK, Literal("; it"))))
    ]
    assert statements("emit INPUT:<v>") == [Emit(Template((Literal("INPUT:"), VALUE)))]


def test_one_text_for_each_domain_in_any_order() -> None:
    event, processing = Template((Literal("EVENT:1"),)), Template((Literal("PROC:2"),))
    for text in ("emit EVENT:1 or PROC:2", "emit PROC:2 or EVENT:1"):
        assert statements(text) == [Emit(Choice(event, processing))]


def test_side_outputs_may_be_named_in_short() -> None:
    text = "emit v to main, v to int tag, v to the side output late, v to br-out"
    assert statements(text, tags=["int-out", "late", "br-out"]) == [
        Emit(VALUE),
        Emit(VALUE, "int-out"),
        Emit(VALUE, "late"),
        Emit(VALUE, "br-out"),
    ]


def test_state() -> None:
    words = read("if state empty: store it; otherwise: clear the state, set state to 5", [])
    assert words.sections == {"first": [Store(VALUE)], "again": [Clear(), Store(Literal(5))]}


@pytest.mark.parametrize(
    "text",
    [
        "first element of a key: store it, register an event timer at wm+5; otherwise: clear state, delete event timer at wm+4",
        "on element: if state is empty: store v, register an event timer at wm+5; else: clear state, delete the timer at wm+4",
        "on element: if state empty store it and register an event timer at watermark+5; else clear the state and delete the "
        "timer at watermark+4",
    ],
)
def test_conditions_on_state(text: str) -> None:
    sections = {name: statements for name, statements in read(text, []).sections.items() if statements}
    assert sections == {
        "first": [Store(VALUE), Timer(EVENT, Time(WATERMARK, 5))],
        "again": [Clear(), Timer(EVENT, Time(WATERMARK, 4), delete=True)],
    }


def test_checks_and_fields() -> None:
    assert statements("check that the key is the first field, emit f1") == [
        Check(Variable("key"), Variable("field0")),
        Emit(Variable("field1")),
    ]


def test_broadcast_state() -> None:
    text = 'put "<v>.k" -> v in broadcast state, read all entries (5 of them), emit "TS:<t>" and all entries sorted'
    assert statements(text) == [
        Put(Template((VALUE, Literal(".k"))), VALUE),
        ReadEntries(5),
        EmitEntries("TS", TIMER),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "dance",
        "emit it, and dance wildly",
        "register a timer at 5",
        "register an event timer at noon",
        "register event 4, proc 5, delete the timer at 6",
        'emit "<moon>"',
        "emit v to nowhere",
        "on full moon: emit v",
        "emit EVENT:1 or LATER:2",
        "clear everything",
        "as above",
    ],
)
def test_unknown_text_raises_an_error(text: str) -> None:
    with pytest.raises(NotRunnableError):
        read(text, ["int-out"])
