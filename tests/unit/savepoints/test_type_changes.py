"""The type changes of a restored job: stored without Python classes, resolved with the types of the program."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import penstock as ps
from penstock.connectors import CollectSink
from penstock.engine.program.builder import build_program
from penstock.engine.program.program import Program
from penstock.errors import StateError
from penstock.savepoints.matching import RestoreMatch, match_savepoint
from penstock.savepoints.savepoint import Savepoint, open_savepoint
from penstock.savepoints.type_changes import decode_type_changes, encode_type_changes
from penstock.spark.savepoint.initial_state import read_initial_state, write_initial_state
from penstock.spark.savepoint.pickled_changes import read_pickled_changes
from penstock.spark.session.pickling import pickle_program
from penstock.spark.session.worker_setup import WorkerSetup
from penstock.testing import Harness
from tests.savepoints.retyped_job import retyped_job

PICKLED = Path(__file__).parents[2] / "savepoints" / "golden" / "changes_of_v1.pickle"


def changed_program() -> Program:
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    retyped_job(env, changed=True).sink_to(CollectSink())
    return build_program(env.graph("retyped"))


@pytest.fixture
def savepoint(tmp_path: Path) -> Savepoint:
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    harness = Harness(env)
    harness.collect(retyped_job(env, changed=False))
    harness.run(max_batches=1)
    return open_savepoint(harness.savepoint(tmp_path / "savepoint"))


def matched_with(savepoint: Savepoint, program: Program) -> RestoreMatch:
    return match_savepoint(savepoint, program)


def loaded(folder: Path, program: Program) -> list[list[bytes]]:
    initial = read_initial_state(str(folder), 1, 0)
    assert initial is not None
    return list(initial.entries(pickle_program(program, WorkerSetup()), now=0))


def test_the_stored_form_names_no_module_and_no_class(savepoint: Savepoint) -> None:
    matched = matched_with(savepoint, changed_program())
    stored = encode_type_changes(matched.state_changes, matched.key_changes)
    assert len(matched.state_changes) == 4
    assert len(matched.key_changes) == 1
    assert b"penstock" not in stored
    assert b"retyped_job" not in stored


def test_changes_are_resolved_with_the_states_that_the_program_declares(savepoint: Savepoint) -> None:
    matched = matched_with(savepoint, changed_program())
    read = decode_type_changes(encode_type_changes(matched.state_changes, matched.key_changes))
    states = read.state_changes(changed_program())
    assert {at: (saved, new.type) for at, (saved, new) in states.items()} == {
        at: (saved, new.type) for at, (saved, new) in matched.state_changes.items()
    }
    assert read.key_changes(changed_program())["totals"].saved == matched.key_changes["totals"].saved


def test_a_program_that_changed_again_is_refused(savepoint: Savepoint) -> None:
    matched = matched_with(savepoint, changed_program())
    read = decode_type_changes(encode_type_changes(matched.state_changes, matched.key_changes))
    env = ps.StreamExecutionEnvironment().set_parallelism(1)
    retyped_job(env, changed=False).sink_to(CollectSink())
    program = build_program(env.graph("retyped"))
    with pytest.raises(StateError, match="State 'count' of operator 'totals' has another type") as raised:
        read.state_changes(program)
    assert raised.value.code == "STATE_CHANGED"
    with pytest.raises(StateError, match="The keys of operator 'totals' have another type"):
        read.key_changes(program)


def test_changes_that_an_earlier_version_pickled_are_read(savepoint: Savepoint) -> None:
    matched = matched_with(savepoint, changed_program())
    read = read_pickled_changes(PICKLED.read_bytes())
    # Earlier versions stored an integer in a field of type float as an integer, which takes fewer bytes.
    assert [(s.operator, replace(s.saved, size=0)) for s in read.states] == [
        (uid, replace(saved, size=0)) for (uid, _), (saved, _) in matched.state_changes.items()
    ]
    assert [(k.operator, k.saved) for k in read.keys] == [
        (uid, change.saved) for uid, change in matched.key_changes.items()
    ]


def test_slots_load_the_same_entries_with_pickled_changes(savepoint: Savepoint, tmp_path: Path) -> None:
    program, folder = changed_program(), tmp_path / "initial"
    write_initial_state(str(folder), savepoint, program, matched_with(savepoint, program))
    current = loaded(folder, program)
    (folder / "changes.json").unlink()
    (folder / "changes").write_bytes(PICKLED.read_bytes())
    assert loaded(folder, program) == current
    (folder / "changes").unlink()
    assert loaded(folder, program) != current
