"""Completes words at the prompt: keywords, tables, columns, functions and options, as they fit the place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from penstock.cli.sql.prompt import vocabulary
from penstock.table.dialect.script import next_part
from penstock.table.dialect.tokens import QUOTED
from penstock.table.environment.session import Session

_WORD = re.compile(r"[\w$]*$")
_QUOTE = re.compile(r"'(?P<begin>[^']*)$")
_VALUE = re.compile(r"'(?P<key>[^']*)'\s*=\s*$")
_SETTING = re.compile(r"(?:SET|RESET)\s*$", re.IGNORECASE)
_TABLE = re.compile(
    r"\b(?:FROM|JOIN|INTO|OVERWRITE|TABLE|VIEW|DESCRIBE|DESC|EXISTS|LIKE|COLUMNS\s+(?:FROM|IN))\s+(?P<name>[\w$`.]*)$",
    re.IGNORECASE,
)
_MEMBER = re.compile(r"(?P<owner>[\w$`]+)\.(?P<begin>[\w$]*)$")
_SOURCES = re.compile(
    r"\b(?:FROM|JOIN|TABLE|INTO)\s+(?P<name>[\w$`.]+)(?:\s+(?:AS\s+)?(?P<alias>[\w$]+))?", re.IGNORECASE
)
_OPTIONS = re.compile(r"'(?P<key>[^']+)'\s*=\s*'(?P<value>[^']*)'")
_USE = re.compile(r"\bUSE\s+(?P<catalog>CATALOG\s+)?(?P<name>[\w$`.]*)$", re.IGNORECASE)

Found = Iterable[tuple[str, str]]  # words with their kinds


class SqlCompleter(Completer):
    """Proposes words for the statement before the cursor."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        begin, found = self.propose(document.text, document.cursor_position)
        # As in a shell, a proposal replaces the begun word only if it starts with it, whatever the case is.
        for word, kind in found:
            if word.lower().startswith(begin.lower()) and word != begin:
                yield Completion(_in_case_of(begin, word, kind), -len(begin), display=word, display_meta=kind)

    def propose(self, text: str, cursor: int) -> tuple[str, Found]:
        """Returns the begun word, and the words that may stand in its place."""
        before, statement = _statement(text, cursor)
        if (quote := _open_quote(before)) is not None:
            return quote.group("begin"), self._in_quotes(before[: quote.start()], statement)
        if used := _USE.search(before):
            return used.group("name"), self._places(used.group("catalog") is not None)
        if table := _TABLE.search(before):
            return table.group("name"), ((name, "table") for name in self._session.table_names())
        if member := _MEMBER.search(before):
            return member.group("begin"), self._members(member.group("owner"), statement)
        word = _WORD.search(before)
        begin = word.group() if word else ""
        return begin, self._words(statement) if begin else ()

    def _words(self, statement: str) -> Found:
        # SELECT is typed before FROM, so that the columns of all tables are proposed first.
        names = _names_of(statement) or self._session.table_names()
        columns = dict.fromkeys(column for name in names for column in vocabulary.columns_of(self._session, name))
        yield from ((column, "column") for column in columns)
        yield from ((word, "keyword") for word in vocabulary.keywords())
        yield from ((name, "table") for name in self._session.table_names())
        yield from ((name, "function") for name in vocabulary.functions())
        yield from ((name, "function") for name in self._session.functions.names())

    def _members(self, owner: str, statement: str) -> Found:
        names = {alias: name for name, alias in _SOURCES.findall(statement) if alias}
        return ((column, "column") for column in vocabulary.columns_of(self._session, names.get(owner, owner)))

    def _places(self, catalogs: bool) -> Found:
        if catalogs:
            return ((name, "catalog") for name in self._session.catalogs.catalogs())
        current = self._session.catalogs.current_catalog
        return ((name, "database") for name in self._session.catalogs.catalog(current).databases())

    def _in_quotes(self, before: str, statement: str) -> Found:
        value = _VALUE.search(before)
        if _SETTING.search(before):
            return ((key, "option") for key in vocabulary.option_keys())
        is_setting = re.match(r"\s*SET\b", statement, re.IGNORECASE) is not None
        if value is not None:
            key = value.group("key")
            words = vocabulary.option_values(key) if is_setting else vocabulary.values_of_table_option(key)
            return ((word, "value") for word in words)
        if re.search(r"[(,]\s*$", before):
            given = dict(_OPTIONS.findall(statement))
            form = given.get("format", given.get("value.format", ""))
            known = vocabulary.connector_options(given.get("connector", ""), form)
            return ((key, "option") for key in known if key not in given)
        return ()


def _statement(text: str, cursor: int) -> tuple[str, str]:
    """The part of the statement before the cursor, and the whole statement."""
    start = 0
    while (part := next_part(text, start)) is not None and part.end < cursor:
        start = part.end + 1
    end = len(text) if part is None else part.end
    return text[start:cursor], text[start:end]


def _open_quote(before: str) -> re.Match[str] | None:
    """The quote that the cursor is in."""
    unfinished = [found for found in QUOTED.finditer(before) if found.lastgroup == "open_text"]
    return _QUOTE.search(before, unfinished[0].start()) if unfinished else None


def _names_of(statement: str) -> list[str]:
    """The tables that a statement reads or writes."""
    return list(dict.fromkeys(found[0] for found in _SOURCES.findall(statement)))


def _in_case_of(begin: str, word: str, kind: str) -> str:
    """Keywords and functions follow the case of what was typed."""
    if kind not in ("keyword", "function"):
        return word
    return word.lower() if begin and begin == begin.lower() else word.upper()
