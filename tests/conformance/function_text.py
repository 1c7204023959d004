"""Parses functions that are specified as text, such as "on element: emit it, register an event timer at watermark+5".

A text has sections, which are separated by semicolons and start with a label (`on element:`, `on timer:`, `broadcast:`). A
section has statements, which are separated by commas, "and" or "then". A statement without a verb has the verb of the
previous statement. A text with an unknown part raises an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.conformance.case import NotRunnableError
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
    Remove,
    Statement,
    Store,
    Template,
    Time,
    Timer,
    Variable,
)

SECTIONS = {
    "element": r"(each |an? |every )?((keyed )?elements?|value)|keyed( side| input)?|non-broadcast( side| element)?",
    "first": (
        r"(the )?first (element|time)( (of|for|that) (a|the|each) key( is seen)?)?"
        r"|(if )?(the |there is )?(no state|(value )?state (is )?(empty|null|not set|unset))"
    ),
    "again": (
        r"(the )?(second|next|later|every other) (elements?|time)( of (a|the|each) key)?"
        r"|otherwise|else|if (the )?state (is )?(set|there|not empty|not null)"
    ),
    "timer": r"(an? |the |any )?timers?",
    "event timer": r"(an? |the )?event([- ]time)? timer",
    "processing timer": r"(an? |the )?proc(essing)?([- ]time)? timer",
    "broadcast": r"(an? )?broadcast( element| side| input)?( v| value)?",
    "input1": r"(an? |the )?(input 1|first input|element 1)( element| v)?",
    "input2": r"(an? |the )?(input 2|second input|element 2)( element| v)?",
}

VARIABLES = {
    "value": r"v|value|it|(the |this )?(element|value|input)( itself)?",
    "watermark": r"wm|(the )?(current )?watermark",
    "timestamp": r"ts|(the |its )?(element('s)? )?timestamp",
    "timer": r"t|(the )?timer('s)?( time(stamp)?)?|(the )?firing time",
    "now": r"now|(the )?(current )?proc(essing)?[- ]time",
    "key": r"k|(the )?(current )?key",
    "state": r"s|(the )?state( value)?",
    "domain": r"(the )?(time )?domain",
    "field0": r"f0|(the )?(first field|field 0)|v\.f0|value\.f0",
    "field1": r"f1|(the )?(second field|field 1)|v\.f1|value\.f1",
}
# Conditions without a colon: "if state empty emit it".
_CONDITION = (
    rf"(?P<label>{SECTIONS['first']}|{SECTIONS['again']})(?:,|\s+then)?\s+"
    r"(?P<rest>(?:emit|store|clear|register|delete)\b.*)"
)


@dataclass
class FunctionScript:
    """The statements of each section."""

    sections: dict[str, list[Statement]] = field(default_factory=dict)


def read(text: str, tags: list[str]) -> FunctionScript:
    """Parses a text. `tags` are the side outputs that it may refer to by a short name."""
    script = FunctionScript()
    section = "element"
    for part in _split(text, r";"):
        label, rest = _label(part)
        while label is not None:  # "on element: if state empty: ..."
            section = label
            label, rest = _label(rest)
        script.sections.setdefault(section, []).extend(_statements(rest, tags))
    return _with_domains(script)


def _with_domains(script: FunctionScript) -> FunctionScript:
    """Sets the time domain of timers without one to the domain of all other timers."""
    timers = [s for statements in script.sections.values() for s in statements if isinstance(s, Timer)]
    domains = {timer.domain for timer in timers if timer.domain}
    if any(not timer.domain for timer in timers) and len(domains) != 1:
        raise NotRunnableError("the time domain of a timer is missing")
    for section, statements in script.sections.items():
        script.sections[section] = [
            replace(s, domain=next(iter(domains))) if isinstance(s, Timer) and not s.domain else s for s in statements
        ]
    return script


def _label(part: str) -> tuple[str | None, str]:
    head, colon, rest = part.partition(":")
    if colon:
        for section, pattern in SECTIONS.items():
            if re.fullmatch(rf"(on |for )?({pattern})", head.strip(), re.IGNORECASE):
                return section, rest.strip()
    if found := re.fullmatch(_CONDITION, part.strip(), re.IGNORECASE):
        return _label(f"{found['label']}: {found['rest']}")
    return None, part


def _split(text: str, pattern: str) -> list[str]:
    """Splits a text at separators outside of quotes and parentheses."""
    kept: list[str] = []
    hidden = re.sub(r'"[^"]*"|\([^)]*\)', lambda found: _keep(kept, found[0]), text)
    parts = re.split(pattern, hidden, flags=re.IGNORECASE)
    return [re.sub(r"\x00(\d+)\x00", lambda found: kept[int(found[1])], part).strip() for part in parts if part.strip()]


def _keep(kept: list[str], text: str) -> str:
    kept.append(text)
    return f"\x00{len(kept) - 1}\x00"


# -- statements

_BETWEEN = r",\s*(?:and |then )*|\s+then\s+|\s+and\s+(?!all entries)"


def _statements(text: str, tags: list[str]) -> list[Statement]:
    found: list[Statement] = []
    verb = domain = ""
    for part in _split(text, _BETWEEN):
        text = part.strip().rstrip(".")
        head, _, rest = text.partition(" ")
        if head.lower() in _VERBS:
            verb, text = head.lower(), rest
        elif re.fullmatch(r"(do )?nothing|no (timers?|output)", text, re.IGNORECASE):
            continue
        if not verb:
            raise NotRunnableError(f'the text "{part}" is not understood')
        if verb in ("register", "delete") and domain and re.fullmatch(r"\d+", text):
            text = f"{domain} {text}"  # "event timers at 4 and 6"
        statement = _VERBS[verb](text, tags)
        if isinstance(statement, Timer):
            domain = statement.domain
        found.append(statement)
    return found


def _emit(text: str, tags: list[str]) -> Statement:
    if entries := re.fullmatch(r'"(\w+): ?<([^>]+)>" and all entries( sorted)?', text):
        return EmitEntries(entries[1], _variable(entries[2]))
    if re.fullmatch(r"all entries( sorted)?", text):
        return EmitEntries()
    what, tag = text, None
    if found := re.fullmatch(r"(.+) to (?:the )?(.+)", text):
        what, tag = found[1], _tag(found[2], tags)
    return Emit(_expression(what), tag)


def _tag(text: str, tags: list[str]) -> str | None:
    """Returns the tag of a side output such as `br-out`, `the int tag`, `side output late`. None: the main output."""
    if re.fullmatch(r"main( output| stream)?", text):
        return None
    name = re.sub(r"^(side outputs?|tag) | (side output|output|tag)$", "", text).strip('"')
    for matching in ([t for t in tags if t in (name, f"{name}-out")], [t for t in tags if t.startswith(name)]):
        if len(matching) == 1:
            return matching[0]
    raise NotRunnableError(f'the side output "{text}" is not one of {tags}')


def _expression(text: str) -> Any:
    text = text.strip()
    if either := re.fullmatch(r"(\S+) or (\S+)", text):
        by_domain = {_domain(either[n].split(":")[0]): _expression(either[n]) for n in (1, 2)}
        return Choice(by_domain[EVENT], by_domain[PROCESSING])
    if re.fullmatch(r'"[^"]*"', text):
        return _template(text[1:-1])
    if re.fullmatch(r"-?\d+", text):
        return Literal(int(text))
    for name, pattern in VARIABLES.items():
        if re.fullmatch(pattern, text.strip("<>"), re.IGNORECASE):
            return Variable(name)
    if re.fullmatch(r"(?=.*:)[\w:<> .-]+", text):  # EVENT:1777, INPUT:<v>
        return _template(text)
    raise NotRunnableError(f'the value "{text}" is not understood')


def _template(text: str) -> Template:
    texts = re.split(r"<([^>]+)>", text)
    return Template(tuple(_variable(t) if n % 2 else Literal(t) for n, t in enumerate(texts) if t))


def _variable(text: str) -> Variable:
    for name, pattern in VARIABLES.items():
        if re.fullmatch(pattern, text.strip(), re.IGNORECASE):
            return Variable(name)
    raise NotRunnableError(f'"{text}" is not a known variable')


def _domain(text: str) -> str:
    if re.fullmatch(r"event([- ]time)?", text, re.IGNORECASE):
        return EVENT
    if re.fullmatch(r"proc(essing)?([- ]time)?", text, re.IGNORECASE):
        return PROCESSING
    raise NotRunnableError(f'"{text}" is not a time domain')


def _timer(delete: bool) -> Callable[[str, list[str]], Statement]:
    def read_timer(text: str, tags: list[str]) -> Statement:
        plain = re.sub(r"\s*\([^)]*\)", "", text).strip()
        pattern = r"(?:an? |the )?(?:(event|proc(?:essing)?)(?:[- ]time)?|timer\b)(?: timers?)?(?: (?:at|for))? (.+)"
        found = re.fullmatch(pattern, plain, re.IGNORECASE)
        if found is None:
            raise NotRunnableError(f'the timer "{text}" is not understood')
        return Timer(_domain(found[1]) if found[1] else "", _time(found[2]), delete)

    return read_timer


def _time(text: str) -> Time:
    found = re.fullmatch(r"(?:(-?\d+)|([a-z'][a-z' -]*?)\s*(?:([+-])\s*(\d+))?)", text.strip(), re.IGNORECASE)
    if found is None:
        raise NotRunnableError(f'the time "{text}" is not understood')
    if found[1] is not None:
        return Time(None, int(found[1]))
    after = int(found[4] or 0)
    return Time(_variable(found[2]), -after if found[3] == "-" else after)


def _store(text: str, tags: list[str]) -> Statement:
    found = re.fullmatch(
        r"(?:(?:the )?(?:value )?state (?:to|with|=) ?)?(.+?)(?: in(?:to)? (?:the )?(?:value )?state)?", text
    )
    assert found is not None
    return Store(_expression(found[1]))


def _put(text: str, tags: list[str]) -> Statement:
    if found := re.fullmatch(r"(.+?) ?(?:->|=|:) ?(.+?) in(?:to)? (?:the )?broadcast state", text):
        return Put(_expression(found[1]), _expression(found[2]))
    if re.fullmatch(r".+ in(to)? (the )?(value )?state", text):
        return _store(text, tags)
    raise NotRunnableError(f'what to put, "{text}", is not understood')


def _remove(text: str, tags: list[str]) -> Statement:
    if found := re.fullmatch(r"(.+?) from (?:the )?broadcast state", text):
        return Remove(_expression(found[1]))
    raise NotRunnableError(f'what to remove, "{text}", is not understood')


def _clear(text: str, tags: list[str]) -> Statement:
    if re.fullmatch(r"(the )?(broadcast )?state", text):
        return Clear(broadcast="broadcast" in text)
    raise NotRunnableError(f'what to clear, "{text}", is not understood')


def _check(text: str, tags: list[str]) -> Statement:
    """Parses a check such as "check that the key is the first field"."""
    if found := re.fullmatch(r"(?:that )?(.+?) (?:is|equals|==|=) (.+)", text):
        return Check(_expression(found[1]), _expression(found[2]))
    raise NotRunnableError(f'what to check, "{text}", is not understood')


def _read_entries(text: str, tags: list[str]) -> Statement:
    if found := re.fullmatch(r"all entries(?: of (?:the )?broadcast state)?(?: \((\d+) of them\))?", text):
        return ReadEntries(None if found[1] is None else int(found[1]))
    raise NotRunnableError(f'what to read, "{text}", is not understood')


_VERBS: dict[str, Callable[[str, list[str]], Statement]] = {
    "emit": _emit,
    "yield": _emit,
    "register": _timer(delete=False),
    "set": lambda text, tags: (_store if "state" in text else _timer(delete=False))(text, tags),
    "delete": _timer(delete=True),
    "store": _store,
    "remember": _store,
    "update": _store,
    "put": _put,
    "remove": _remove,
    "clear": _clear,
    "read": _read_entries,
    "check": _check,
    "assert": _check,
    "verify": _check,
}
