"""Classes that are pickled by value: what another process gets, and what this process keeps."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import penstock as ps
from penstock.engine.program.pickling import copy_by_value
from penstock.errors import PenstockError, StateError
from penstock.runtime.pickling import dumps
from penstock.runtime.user_classes import ProgramClasses, find_class
from penstock.testing import Harness, PushSource
from tests.locations import ROOT

# A script that pickles what `made()` returns, and another process that calls `use` with it.
TWO_PROCESSES = """
import dataclasses, pickle, subprocess, sys
from dataclasses import dataclass, field
import msgspec
from penstock.engine.program.pickling import pickle_by_value

{made}

command = [sys.executable, "-c", "import sys, pickle; print(pickle.load(sys.stdin.buffer)())"]
print(subprocess.run(command, input=pickle_by_value(use), capture_output=True, check=True).stdout.decode().strip())
"""


def run_script(text: str) -> str:
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def in_two_processes(made: str) -> str:
    """Returns what the function `use` of a script returns in another process."""
    return run_script(TWO_PROCESSES.format(made=textwrap.dedent(made)))


CLICK = """
@dataclass
class Click:
    page: str
    ms: int
    tags: list[str] = field(default_factory=list)
"""


def test_required_fields_of_a_dataclass_stay_required() -> None:
    use = """
    def use():
        try:
            return msgspec.json.decode(b'{"page": "c"}', type=Click)
        except msgspec.ValidationError as error:
            return error
    """
    assert in_two_processes(CLICK + textwrap.dedent(use)) == "Object missing required field `ms`"


def test_a_default_factory_is_called_in_the_other_process() -> None:
    use = """
    def use():
        return msgspec.json.decode(b'{"page": "c", "ms": 1}', type=Click), Click("d", 2)
    """
    expected = "(Click(page='c', ms=1, tags=[]), Click(page='d', ms=2, tags=[]))"
    assert in_two_processes(CLICK + textwrap.dedent(use)) == expected


def test_the_sentinels_of_dataclasses_keep_their_identity() -> None:
    use = """
    def use():
        first, second, third = dataclasses.fields(Click)
        return first.default is dataclasses.MISSING, third.default is dataclasses.MISSING, third.default_factory is list
    """
    assert in_two_processes(CLICK + textwrap.dedent(use)) == "(True, True, True)"


def test_slots_are_slots_in_the_other_process() -> None:
    made = """
    @dataclass(slots=True)
    class Slim:
        a: int = 1

    def use():
        return hasattr(Slim(), "__dict__"), Slim()
    """
    assert in_two_processes(made) == "(False, Slim(a=1))"


def test_attributes_of_enum_members_and_aliases() -> None:
    made = """
    import enum

    class Planet(enum.Enum):
        EARTH = (5.97, 6.37)
        HOME = EARTH

        def __init__(self, mass, radius):
            self.mass = mass

    def use():
        return Planet.EARTH.mass, Planet["HOME"] is Planet.EARTH, list(Planet.__members__)
    """
    assert in_two_processes(made) == "(5.97, True, ['EARTH', 'HOME'])"


def test_a_struct_keeps_its_options_constants_and_functions() -> None:
    made = """
    from typing import ClassVar

    class Base(msgspec.Struct, kw_only=True):
        id: int

    class Trade(Base, frozen=True, rename="camel", tag="t"):
        unit_price: float = 2.5
        tags: list = msgspec.field(default_factory=lambda: [Trade.currency])
        currency: ClassVar[str] = "EUR"

        def doubled(self):
            return Trade(id=self.id, unit_price=self.unit_price * 2)

    class Checked(Trade, frozen=True):
        unit_price: float = 3.5

        def __post_init__(self):
            if not isinstance(self, Checked) or self.unit_price < 0:
                raise ValueError("negative")

    def use():
        refused = False
        try:
            Checked(-1.0, id=1)
        except ValueError:
            refused = True
        return msgspec.json.encode(Trade(id=1).doubled()).decode(), refused, Checked(id=2).unit_price
    """
    assert in_two_processes(made) == ("""('{"type":"t","unitPrice":5.0,"tags":["EUR"],"id":1}', True, 3.5)""")


def test_names_in_text_annotations_can_be_resolved_in_the_other_process() -> None:
    """With `from __future__ import annotations`, types are looked up in the main module of the process that needs them."""
    program = """
    from __future__ import annotations
    import datetime as dt, pickle, subprocess, sys
    from dataclasses import dataclass
    from typing import Optional
    import msgspec
    from penstock.engine.program.pickling import pickle_with_classes

    @dataclass
    class Tag:
        name: str

    @dataclass
    class Click:
        at: Optional[dt.date]
        tags: list["Tag"]

    class Unrelated:
        lock = __import__("threading").Lock()  # cannot be pickled, and is not needed

    def use():
        return msgspec.json.decode(b'{"at": "2026-01-02", "tags": [{"name": "a"}]}', type=Click)

    worker = '''
    import sys
    from penstock.engine.program.pickling import load_with_classes
    use, classes = load_with_classes(sys.stdin.buffer.read())
    classes.activate()
    print(use())
    '''
    import textwrap
    command = [sys.executable, "-c", textwrap.dedent(worker)]
    print(subprocess.run(command, input=pickle_with_classes(use), capture_output=True, check=True).stdout.decode().strip())
    """
    assert run_script(textwrap.dedent(program)) == "Click(at=datetime.date(2026, 1, 2), tags=[Tag(name='a')])"


# -- in the process that defines the classes


def test_a_class_of_this_process_is_not_copied_or_changed() -> None:
    @dataclasses.dataclass
    class Order:
        id: int
        tags: list[str] = dataclasses.field(default_factory=list)

    before = dict(vars(Order))
    assert copy_by_value([Order, Order(1)]) == [Order, Order(1)]
    assert {name: value for name, value in vars(Order).items() if name in before} == before
    assert dataclasses.fields(Order)[0].default is dataclasses.MISSING


def test_the_cache_of_a_msgspec_decoder_is_not_pickled() -> None:
    @dataclasses.dataclass
    class Order:
        id: int

    msgspec.json.decode(b'{"id": 1}', type=Order)
    assert "__msgspec_cache__" in vars(Order)
    assert copy_by_value(Order(2)) == Order(2)
    assert "__msgspec_cache__" in vars(Order)


def test_a_harness_can_follow_another_with_the_same_state_type() -> None:
    """The first one creates a decoder for the class, which stays in the class."""

    @dataclasses.dataclass
    class Order:
        id: int
        tags: list[str] = dataclasses.field(default_factory=list)

    class Last(ps.KeyedProcessFunction[int, Order, Any]):
        def open(self, runtime_context: ps.RuntimeContext) -> None:
            self.last = runtime_context.get_state(ps.ValueStateDescriptor("last", Order))

        def process_element(self, value: Order, ctx: ps.KeyedProcessFunction.Context) -> Iterator[Any]:
            before = self.last.value()
            self.last.update(value)
            yield before

    for _ in range(3):
        env = ps.StreamExecutionEnvironment()
        harness = Harness(env)
        out = harness.collect(env.from_source(PushSource()).key_by(lambda order: 1).process(Last()))
        harness.push(Order(1))
        harness.push(Order(2, ["a"]))
        assert list(out) == [None, Order(1)]


def test_functions_in_the_harness_are_copies() -> None:
    """As on Spark, a test cannot observe variables that functions change, also if their class is defined in the test."""
    seen: list[int] = []

    class Remember(ps.MapFunction[int, int]):
        def map(self, value: int) -> int:
            seen.append(value)
            return len(seen)

    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    out = harness.collect(env.from_source(PushSource()).map(Remember()))
    harness.push(7)
    harness.push(8)
    assert list(out) == [1, 2]
    assert seen == []


def test_state_is_restored_as_objects_of_the_class_of_the_new_run() -> None:
    """Each run defines the class again, as a script does that is started again."""

    def make() -> tuple[type, Harness, Any]:
        class Visit:
            def __init__(self, number: int) -> None:
                self.number = number

        class Last(ps.KeyedProcessFunction[int, int, Any]):
            def open(self, runtime_context: ps.RuntimeContext) -> None:
                self.last = runtime_context.get_state(ps.ValueStateDescriptor("last"))

            def process_element(self, value: int, ctx: ps.KeyedProcessFunction.Context) -> Iterator[Any]:
                before = self.last.value()
                self.last.update(Visit(value))
                yield (None, True) if before is None else (before, isinstance(before, Visit))

        env = ps.StreamExecutionEnvironment()
        harness = Harness(env, parallelism=2)
        return Visit, harness, harness.collect(env.from_source(PushSource()).key_by(lambda n: 1).process(Last()))

    first_class, first, first_out = make()
    first.push(1)
    saved = first.snapshot()
    second_class, second, second_out = make()
    second.restore(saved).push(2)
    first.push(3)  # both are running
    assert first_class is not second_class
    assert [(type(v), same) for v, same in second_out] == [(second_class, True)]
    assert [(type(v), same) for v, same in first_out] == [(type(None), True), (first_class, True)]


def test_classes_of_the_same_name_have_different_names_in_the_program() -> None:
    def make() -> type:
        class Order:
            pass

        return Order

    first, second = make(), make()
    classes = ProgramClasses([first, second])
    classes.activate()
    names = [classes.name_of(first), classes.name_of(second)]
    assert len(set(names)) == 2
    assert [type(pickle.loads(dumps(kind()))) for kind in (first, second)] == [first, second]
    ProgramClasses().activate()


def test_an_object_of_an_unknown_class() -> None:
    ProgramClasses().activate()
    with pytest.raises(
        StateError, match=r"\[STATE_CLASS\] A stored object is a main.<locals>.Order of module __main__"
    ):
        find_class("__main__:main.<locals>.Order")


def test_a_class_that_a_function_creates_cannot_be_an_element() -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).map(lambda n: type("Made", (), {})()).rebalance().map(lambda v: 1))
    with pytest.raises(PenstockError, match="classes that the program defines before it starts"):
        harness.push(1)


def test_the_main_module_of_a_worker_has_the_classes_of_the_running_job() -> None:
    """A worker may run tasks of two jobs of a notebook, in which a cell has replaced a class."""
    program = """
    import pickle
    from penstock.engine.program.pickling import load_with_classes, pickle_with_classes
    from penstock.runtime import user_classes
    from penstock.runtime.pickling import dumps

    def cell(version):
        exec(compile(f"class Order:\\n    version = {version}\\n", "<cell>", "exec"), globals())
        return pickle_with_classes(lambda: Order())

    jobs = [cell(1), cell(2)]
    del Order  # as in a worker
    user_classes._classes.clear()
    loaded = [load_with_classes(data) for data in jobs]
    found = []
    for use, classes in [*loaded, *loaded]:
        classes.activate()
        made = use()
        again = pickle.loads(dumps(made))
        found.append((again.version, type(again) is type(made)))
    print(found)
    """
    assert run_script(textwrap.dedent(program)) == "[(1, True), (2, True), (1, True), (2, True)]"


def test_a_class_can_be_pickled_again_by_the_process_that_got_it() -> None:
    made = """
    @dataclass
    class Order:
        id: int

    def use():
        import pickle
        from penstock.engine.program.pickling import pickle_by_value
        return type(pickle.loads(pickle_by_value(Order(1)))) is Order
    """
    assert in_two_processes(made) == "True"


class Restless:
    """Its pickle is another one after each round trip, as that of a set of strings can be."""

    def __init__(self, turned: bool) -> None:
        self.turned = turned

    def __reduce__(self) -> Any:
        return Restless, (not self.turned,)


def test_reading_broadcast_state_does_not_change_it() -> None:
    """Only one of two subtasks reads the value, and an equal value may have another pickle."""
    rules = ps.MapStateDescriptor("rules")

    class WithRule(ps.BroadcastProcessFunction[int, Any, int]):
        def process_element(self, value: int, ctx: Any) -> Iterator[int]:
            assert ctx.get_broadcast_state(rules).get("rule") is not None
            yield value

        def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[int]:
            ctx.get_broadcast_state(rules).put("rule", Restless(False))
            yield from ()

    env = ps.StreamExecutionEnvironment()
    numbers, news = (env.from_source(PushSource(), source_name=name) for name in ("numbers", "news"))
    harness = Harness(env, parallelism=2)
    out = harness.collect(numbers.connect(news.broadcast(rules)).process(WithRule()))
    harness.push("new rule", source="news")
    harness.push(1, source="numbers")
    harness.push(2, source="numbers")
    assert list(out) == [1, 2]


def test_elements_are_decoded_with_the_class_of_the_running_program() -> None:
    """A notebook defines a class again under the same name, so types of both programs have the same pickle."""
    program = """
    import penstock as ps
    from penstock.testing import Harness, PushSource

    CELL = '''
    from dataclasses import dataclass
    @dataclass
    class Order:
        id: int
        price: float
    '''
    import textwrap
    for _ in range(2):
        exec(compile(textwrap.dedent(CELL), "<cell>", "exec"), globals())
        env = ps.StreamExecutionEnvironment()
        orders = env.from_collection(list(range(1000))).map(lambda n: Order(n, n / 2), output_type=ps.Types.of(Order))
        harness = Harness(env)
        out = harness.collect(orders.rebalance().map(lambda order: type(order) is Order))
        print(set(harness.run() and out))
    """
    assert run_script(textwrap.dedent(program)).splitlines() == ["{True}", "{True}"]
