"""Keys whose type is not declared, in the savepoint or in the program: state is never lost silently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.errors import CheckpointError, StateError
from penstock.functions import sum_of
from penstock.runtime.state.evolution.describe import describe_key
from penstock.runtime.state.evolution.key_forms import fits_type, key_form
from penstock.runtime.state.keys import encode_key
from penstock.savepoints import open_savepoint
from penstock.savepoints.check import KEY_ROW, UNKNOWN, RestoreCheck, check_restore
from penstock.savepoints.evolution import INCOMPATIBLE
from penstock.state import ValueStateDescriptor
from penstock.testing import Harness, PushSource
from penstock.types import Types, type_information
from penstock.windows import TumblingEventTimeWindows


@dataclass(frozen=True)
class User:
    number: int


@dataclass(frozen=True)
class Person:
    number: int


class Sum(ps.KeyedProcessFunction):
    """Emits the sum of the numbers of a key."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", int))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value)
        yield self.total.value()


def job(key: Callable[[Any], Any], key_type: Any = None) -> tuple[Harness, Any]:
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    numbers = env.from_source(PushSource(), source_name="numbers").uid("numbers")
    sums = numbers.key_by(key, key_type=key_type).process(Sum()).uid("sums")
    harness = Harness(env)
    return harness, harness.collect(sums)


def take_savepoint(folder: Path, key: Callable[[Any], Any], key_type: Any = None) -> str:
    harness, _ = job(key, key_type)
    harness.push_all(range(20))
    return harness.savepoint(folder / "saved")


def check(saved: str, harness: Harness) -> RestoreCheck:
    return check_restore(open_savepoint(saved), harness.job.program)


def text_key(n: int) -> str:
    return f"k{n % 5}"


def number_key(n: int) -> int:
    return n % 5


def test_a_declared_key_type_that_is_not_declared_anymore_is_refused(tmp_path: Path) -> None:
    saved = take_savepoint(tmp_path, text_key, Types.STRING())
    harness, _ = job(number_key)
    checked = check(saved, harness)
    (row,) = [row for row in checked.rows if row.state == KEY_ROW]
    assert (row.before, row.after, row.verdict) == ("str", "no declared type", INCOMPATIBLE)
    assert not checked.compatible
    with pytest.raises(CheckpointError, match="key_by") as refused:
        harness.restore_savepoint(saved)
    assert refused.value.code == "SAVEPOINT_STATE_INCOMPATIBLE"


@pytest.mark.parametrize(
    ("before", "key_type"),
    [(number_key, Types.STRING()), (text_key, int), (lambda n: (n % 5, "a"), tuple[str, int]), (User, Person)],
)
def test_a_type_that_is_declared_now_must_be_that_of_the_saved_keys(
    tmp_path: Path, before: Callable[[Any], Any], key_type: Any
) -> None:
    saved = take_savepoint(tmp_path, before)
    harness, _ = job(before, key_type)
    assert not check(saved, harness).compatible
    with pytest.raises(CheckpointError, match="are not keys of type"):
        harness.restore_savepoint(saved)


@pytest.mark.parametrize(
    ("key", "key_type"),
    [
        (number_key, int),
        (number_key, Types.DOUBLE()),
        (text_key, str),
        (lambda n: (n % 5, "a"), tuple[int, str]),
        (User, User),
    ],
)
def test_the_type_of_the_saved_keys_can_be_declared_later(
    tmp_path: Path, key: Callable[[Any], Any], key_type: Any
) -> None:
    saved = take_savepoint(tmp_path, key)
    harness, out = job(key, key_type)
    assert check(saved, harness).compatible
    harness.restore_savepoint(saved).push(3)
    assert out[0] > 3


KEYS: dict[str, Callable[[Any], Any]] = {
    "str": text_key,
    "int": number_key,
    "pair": lambda n: (n % 5, "a"),
    "swapped pair": lambda n: ("a", n % 5),
    "triple": lambda n: (n % 5, "a", 1),
    "bytes": lambda n: bytes([n % 5]),
    "User": lambda n: User(n % 5),
    "Person": lambda n: Person(n % 5),
    "Row": lambda n: ps.Row(n=n % 5),
}


@pytest.mark.parametrize("after", KEYS)
@pytest.mark.parametrize("before", KEYS)
def test_undeclared_keys_of_another_type_are_refused_with_the_first_element(
    tmp_path: Path, before: str, after: str
) -> None:
    saved = take_savepoint(tmp_path, KEYS[before])
    harness, out = job(KEYS[after])
    (row,) = [row for row in check(saved, harness).rows if row.state == KEY_ROW]
    assert row.verdict == UNKNOWN
    harness.restore_savepoint(saved)
    if before == after:
        harness.push_all([3, 23])
        assert sorted(out) == [3 + 8 + 13 + 18 + 3, 3 + 8 + 13 + 18 + 3 + 23]
        return
    with pytest.raises(CheckpointError, match="no element would find its state") as refused:
        harness.push(3)
    assert refused.value.code == "SAVEPOINT_KEYS_CHANGED"
    assert out == []


def test_a_batch_without_elements_does_not_end_the_comparison(tmp_path: Path) -> None:
    saved = take_savepoint(tmp_path, text_key)
    harness, _ = job(number_key)
    harness.restore_savepoint(saved).set_time(1000)
    again, _ = job(number_key)
    again.restore(harness.snapshot())
    with pytest.raises(CheckpointError, match="keys of type str"):
        again.push(3)


def test_dropped_state_can_be_allowed(tmp_path: Path) -> None:
    saved = take_savepoint(tmp_path, text_key)
    harness, out = job(number_key)
    harness.restore_savepoint(saved, allow_dropped_state=True).push(3)
    assert out == [3]


def test_keys_of_several_types_are_compared_with_all_of_them(tmp_path: Path) -> None:
    def mixed(n: int) -> Any:
        return n % 5 or "none"

    saved = take_savepoint(tmp_path, mixed)
    harness, out = job(mixed)
    harness.restore_savepoint(saved)
    harness.push(5)
    harness.push(3)
    assert out == [0 + 5 + 10 + 15 + 5, 3 + 8 + 13 + 18 + 3]


def mostly_text(n: int) -> Any:
    """A key selector of two types, one of which is rare."""
    return 7 if n == 7 else text_key(n)


def test_a_type_that_the_sample_does_not_contain_is_found_among_all_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = take_savepoint(tmp_path, mostly_text)
    monkeypatch.setattr("penstock.savepoints.sampled_keys.key_forms", lambda keys: ["str"])  # as if 7 were not sampled
    harness, out = job(mostly_text)
    harness.restore_savepoint(saved).push(7)
    assert out == [14]


def test_keys_of_a_new_type_are_accepted_if_all_types_are_declared(tmp_path: Path) -> None:
    saved = take_savepoint(tmp_path, text_key)
    harness, out = job(lambda n: 7 if n == 27 else text_key(n))
    harness.restore_savepoint(saved)
    with pytest.raises(CheckpointError, match=r"key_type=int \| str"):
        harness.push(27)
    harness, out = job(lambda n: 7 if n == 27 else text_key(n), int | str)
    harness.restore_savepoint(saved)
    harness.push_all([27, 3])
    assert sorted(out) == [27, 3 + 8 + 13 + 18 + 3]


def resume(before: Callable[[Any], Any], after: Callable[[Any], Any], key_type: Any = None) -> tuple[Harness, Any]:
    """A job that continues the checkpoint of another one."""
    first, _ = job(before)
    first.push_all(range(20))
    harness, out = job(after, key_type)
    return harness.restore(first.snapshot()), out


@pytest.mark.parametrize(
    ("before", "after", "key_type"),
    [
        (number_key, text_key, str),
        (text_key, number_key, int),
        (lambda n: (n % 5, "a"), lambda n: ("a", n), tuple[str, int]),
    ],
)
def test_a_resumed_job_compares_the_stored_keys_with_the_type_that_is_declared_now(
    before: Callable[[Any], Any], after: Callable[[Any], Any], key_type: Any
) -> None:
    with pytest.raises(StateError, match="would not be found") as refused:
        resume(before, after, key_type)[0].push(3)
    assert refused.value.code == "STATE_CHANGED"


@pytest.mark.parametrize(("key", "key_type"), [(number_key, int), (text_key, str), (text_key, int | str)])
def test_a_resumed_job_can_declare_the_type_of_its_keys(key: Callable[[Any], Any], key_type: Any) -> None:
    harness, out = resume(key, key, key_type)
    harness.push(3)
    assert out == [3 + 8 + 13 + 18 + 3]


def test_a_resumed_job_warns_if_its_keys_have_another_type() -> None:
    harness, _ = resume(lambda n: f"k{n}", lambda n: n)
    harness.push_all(range(20))
    harness.push_all(range(20))
    warned = [line.text for line in harness.job.logs]
    assert len(warned) == 2  # slots, each once
    assert all(
        "are of type int" in text and "has keys of type str, so these elements do not find" in text for text in warned
    )


@pytest.mark.parametrize("key", [text_key, mostly_text])
def test_a_resumed_job_with_the_same_keys_does_not_warn(key: Callable[[Any], Any]) -> None:
    harness, _ = resume(key, key)
    harness.push_all([7, 3])
    assert harness.job.logs == []


def test_windows_by_columns_compare_their_keys(tmp_path: Path) -> None:
    def windows(key: Callable[[Any], Any]) -> Harness:
        env = ps.StreamExecutionEnvironment()
        numbers = (
            env.from_source(PushSource(), source_name="numbers").uid("numbers").map(lambda n: {"n": n}).uid("named")
        )
        sums = numbers.key_by(lambda e: key(e["n"])).window(TumblingEventTimeWindows.of(100))
        sums.aggregates(total=sum_of("n")).uid("sums").print()
        return Harness(env)

    first = windows(text_key)
    first.push(1, 1)
    second = windows(number_key)
    second.restore_savepoint(first.savepoint(tmp_path / "saved"))
    with pytest.raises(CheckpointError, match="keys of type str"):
        second.push(1, 1)


@pytest.mark.parametrize(
    ("key", "key_type", "expected"),
    [
        (True, bool, True),
        (1, Types.BIG_DEC(), True),
        (2.5, int, False),
        (("a", None), tuple[str, int | None], True),
        (("a", 1), tuple[str, ...], False),
        ("a", int | str, True),
        (ps.Row(a=1, b="x"), Types.ROW_NAMED(["b", "a"], [Types.STRING(), Types.INT()]), True),
        (ps.Row(a=1, b="x"), Types.ROW_NAMED(["a"], [Types.INT()]), False),
    ],
)
def test_forms_of_keys_and_declared_types(key: Any, key_type: Any, expected: bool) -> None:
    assert fits_type(key_form(encode_key(key)[0]), describe_key(type_information(key_type))) is expected
