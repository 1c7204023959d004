"""Files with errors: truncated, not UTF-8, another schema, a huge line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.connectors import FileSource, Source, json_lines
from tests.system.bad_input.reading import read


class Click(msgspec.Struct, frozen=True):
    """The expected records of the files."""

    page: str
    ms: int


GOOD = b'{"page":"a","ms":1}\n'
A = Click("a", 1)


@dataclass(frozen=True)
class BadRecords:
    """A file with valid and invalid records."""

    name: str
    content: bytes
    make: Callable[[Path], Source]
    good: list[Any]
    bad: list[bytes]
    says: str  # what the decoder has to say of the first one


def clicks(path: Path) -> Source:
    return json_lines(path, Click)


RECORDS = [
    BadRecords("cut-off.jsonl", GOOD * 3 + b'{"page":"b","m', clicks, [A] * 3, [b'{"page":"b","m'], "malformed"),
    BadRecords("no-json.jsonl", GOOD + b"hello\n" + GOOD, clicks, [A] * 2, [b"hello"], "malformed"),
    BadRecords("other-type.jsonl", b'{"page":5,"ms":1}\n' + GOOD, clicks, [A], [b'{"page":5,"ms":1}'], "page"),
    BadRecords("field-missing.jsonl", GOOD + b'{"page":"x"}\n', clicks, [A], [b'{"page":"x"}'], "ms"),
    BadRecords("no-utf8.txt", b"one\nab\xff\xfe\ntwo\n", FileSource, ["one", "two"], [b"ab\xff\xfe"], "0xff"),
    BadRecords("no-utf8.jsonl", b'{"page":"\xff","ms":1}\n' + GOOD, clicks, [A], [b'{"page":"\xff","ms":1}'], "utf"),
    BadRecords("two-bad.txt", b"\xff\n1\n\xfe\n2\n", FileSource, ["1", "2"], [b"\xff", b"\xfe"], "0xff"),
    BadRecords("empty-object.jsonl", b"{}\n", clicks, [], [b"{}"], "page"),
]


@pytest.fixture(params=RECORDS, ids=lambda r: r.name)
def case(request: pytest.FixtureRequest) -> BadRecords:
    bad_records: BadRecords = request.param
    return bad_records


@pytest.fixture
def path(case: BadRecords, tmp_path: Path) -> Path:
    file = tmp_path / case.name
    file.write_bytes(case.content)
    return file


def test_bad_record_fails_the_job_with_position_and_option(case: BadRecords, path: Path) -> None:
    outcome = read(case.make(path))
    assert outcome.error is not None
    assert outcome.error.code == "BAD_RECORD"
    assert str(path) in outcome.text
    assert f"byte {case.content.index(case.bad[0])} " in outcome.text
    assert case.says in outcome.text
    assert repr(case.bad[0])[2:-1] in outcome.text
    assert 'on_error="dead_letter"' in outcome.text
    assert 'on_error="skip"' in outcome.text
    assert "input" in outcome.text
    assert outcome.elements == []


def test_bad_records_are_dead_letters_and_the_others_are_read(case: BadRecords, path: Path) -> None:
    outcome = read(case.make(path), "dead_letter")
    assert outcome.elements == case.good
    assert [dead_letter.raw for dead_letter in outcome.dead_letters] == case.bad
    assert all(
        dead_letter.error and dead_letter.message and dead_letter.facts["file"] == str(path)
        for dead_letter in outcome.dead_letters
    )


def test_bad_records_are_skipped_and_counted(case: BadRecords, path: Path) -> None:
    outcome = read(case.make(path), "skip")
    assert (outcome.elements, outcome.skipped) == (case.good, len(case.bad))


def test_a_line_of_100_megabytes_is_read(tmp_path: Path) -> None:
    file = tmp_path / "large.txt"
    file.write_bytes(b"before\n" + b"x" * (100 << 20) + b"\nbehind\n")
    outcome = read(FileSource(file))
    assert [len(line) for line in outcome.elements] == [6, 100 << 20, 6]


@pytest.mark.long
def test_error_of_an_invalid_line_of_100_megabytes_is_short(tmp_path: Path) -> None:
    file = tmp_path / "large.jsonl"
    file.write_bytes(GOOD + b"[" * (100 << 20) + b"\n" + GOOD)
    outcome = read(clicks(file))
    assert len(outcome.text) < 2000
    assert "104,857,600 bytes" in outcome.text
    outcome_with_dead_letters = read(clicks(file), "dead_letter")
    assert outcome_with_dead_letters.elements == [A, A]
    assert [len(dead_letter.raw or b"") for dead_letter in outcome_with_dead_letters.dead_letters] == [100 << 20]


def test_missing_path(tmp_path: Path) -> None:
    outcome = read(FileSource(tmp_path / "nowhere"))
    assert outcome.error is not None
    assert outcome.error.code == "FILE_NOT_FOUND"
    assert str(tmp_path / "nowhere") in outcome.text
