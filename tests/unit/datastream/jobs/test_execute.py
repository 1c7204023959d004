"""The jobs that an environment passes to its engine, and their results."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

import penstock as ps
from penstock.datastream import CompletableFuture, JobID
from penstock.errors import ConfigError, JobError, PlanError, UnsupportedOperation
from tests.unit.datastream.recording_engine import RecordingEngine, environment


def names(number: int) -> list[str]:
    graph = RecordingEngine.asked[number][0]
    return [n.name for n in graph.nodes]


def test_execute_passes_the_complete_job_to_the_engine() -> None:
    env = environment(**{"pipeline.global-job-parameters": "region:eu"}).set_max_parallelism(64)
    env.from_collection([1]).map(str).print()
    result = env.execute("orders")
    graph, configuration, files = RecordingEngine.asked[0]
    assert (graph.name, graph.parallelism, graph.max_parallelism) == ("orders", 3, 64)
    assert graph.parameters == {"region": "eu"}
    assert files == {"files": [], "requirements": [], "archives": [], "jars": []}
    env.configuration.set("parallelism.default", 9)
    assert not configuration.contains_key("parallelism.default"), "a running job keeps the configuration it began with"
    assert (result.get_job_id(), result.get_net_runtime()) == (JobID("orders-id"), 1500)
    assert result.get_accumulator_result("map-1.numRecordsIn") == 3
    assert result.get_accumulator_result("nothing") is None
    assert result.get_all_accumulator_results() == {"map-1.numRecordsIn": 3}
    assert "orders-id finished after 1500 ms" in str(result)


def test_a_job_has_a_name() -> None:
    env = environment()
    env.from_collection([1]).print()
    assert env.graph().name == "job"
    env.configuration.set("pipeline.name", "configured")
    assert env.graph().name == "configured"
    assert env.graph("given").name == "given"


def test_the_next_job_contains_new_nodes_and_their_inputs() -> None:
    env = environment()
    numbers = env.from_collection([1]).map(str).name("first")
    numbers.print()
    env.execute()
    env.from_sequence(1, 2).print()
    env.execute()
    numbers.map(str).name("again").print()
    env.execute()
    assert names(0) == ["collection", "first", "print"]
    assert names(1) == ["sequence", "print"]
    assert names(2) == ["collection", "first", "again", "print"]
    with pytest.raises(PlanError, match="NO_SINK"):
        env.execute()


def test_nodes_of_a_rejected_job_are_not_discarded() -> None:
    env = environment()
    stream = env.from_collection([1])
    with pytest.raises(PlanError, match="NO_SINK"):
        env.execute()
    stream.print()
    env.execute()
    assert names(0) == ["collection", "print"]


def test_close_discards_nodes_that_were_not_executed() -> None:
    env = environment()
    env.from_collection([1]).print()
    env.close()
    with pytest.raises(PlanError, match="NO_SINK"):
        env.execute()


@pytest.mark.parametrize(
    ("mode", "bounded", "endless"), [("STREAMING", False, False), ("BATCH", True, None), ("AUTOMATIC", True, False)]
)
def test_the_mode_and_the_sources_decide_whether_it_is_a_batch_job(
    mode: str, bounded: bool, endless: bool | None
) -> None:
    env = environment()
    assert env.set_runtime_mode(ps.RuntimeExecutionMode[mode]) is env
    numbers = env.from_collection([1])
    numbers.print()
    assert env.graph().batch_mode is bounded
    numbers.union(env.from_generator(lambda n: n)).print()
    if endless is None:
        for run in (env.execute, env.execute_async, env.get_execution_plan):
            with pytest.raises(PlanError, match=r"UNBOUNDED_IN_BATCH.*'generator' \(test_execute.py:\d+\)"):
                run()
        assert RecordingEngine.asked == []
    else:
        assert env.graph().batch_mode is endless


def test_uids_can_be_required() -> None:
    env = environment()
    env.get_config().disable_auto_generated_uids()
    mapped = env.from_collection([1]).uid("numbers").key_by(lambda n: n).map(str)
    sink = mapped.print()
    with pytest.raises(PlanError, match=r"NO_UID.*'map' \(test_execute.py:\d+\)"):
        env.graph()
    mapped.uid("as text")
    with pytest.raises(PlanError, match=r"NO_UID.*'print'"):
        env.graph()
    sink.uid("out")
    assert env.graph().nodes


def test_java_sources_are_not_supported() -> None:
    env = environment()
    with pytest.raises(UnsupportedOperation, match=r"SOURCE_FUNCTION.*'mine'"):
        env.add_source(object(), "mine")
    with pytest.raises(UnsupportedOperation, match="INPUT_FORMAT"):
        env.create_input(object())
    with pytest.raises(UnsupportedOperation, match=r"CHARSET.*latin-1"):
        env.read_text_file("words.txt", "latin-1")


def test_an_unknown_engine_raises_an_error() -> None:
    for name in ("nowhere:Engine", "penstock.errors:Engine", "nothing", ""):
        with pytest.raises(ConfigError, match=r"ENGINE.*cannot be loaded"):
            ps.StreamExecutionEnvironment(ps.Configuration({"execution.engine": name})).get_parallelism()


def test_the_plan_as_json() -> None:
    env = environment().set_parallelism(2)
    numbers = env.from_collection([1]).map(str)
    counts = (
        numbers.union(env.from_sequence(1, 2).map(str)).key_by(lambda n: n).map(str).name("count").set_parallelism(1)
    )
    counts.rebalance().print()
    plan = json.loads(env.get_execution_plan())["nodes"]
    by_name: dict[str, Any] = {n["type"]: n for n in plan}
    assert [n["pact"] for n in plan] == ["Data Source", "Operator", "Data Source", "Operator", "Operator", "Data Sink"]
    assert by_name["count"]["parallelism"] == 1
    assert [(p["ship_strategy"], p["side"]) for p in by_name["count"]["predecessors"]] == [("HASH", "first")] * 2
    assert by_name["print"]["predecessors"] == [
        {"id": by_name["count"]["id"], "ship_strategy": "REBALANCE", "side": "first"}
    ]
    assert "predecessors" not in by_name["collection"]
    assert env.graph().nodes, "the job can still be run"


def test_operators_of_pyflink_in_the_plan() -> None:
    env = environment()
    env.from_collection([(1, 2)]).project(1).print()
    env.from_collection([1]).key_by(lambda n: n).union(env.from_collection([2]).key_by(lambda n: n)).print()
    plan = json.loads(env.get_execution_plan())["nodes"]
    values = [n for n in plan if n["type"] == "_keyed_stream_values_operator"]
    assert "Projection" in [n["type"] for n in plan]
    assert [n["predecessors"][0]["ship_strategy"] for n in values] == ["HASH", "HASH"]
    assert [p["id"] for p in plan[-1]["predecessors"]] == [n["id"] for n in values]


# -- asynchronous jobs


def started(env: ps.StreamExecutionEnvironment, name: str) -> ps.JobClient:
    env.from_collection([1]).print()
    return env.execute_async(name)


def test_two_concurrent_jobs() -> None:
    env = environment()
    one, two = started(env, "one"), started(env, "two")
    assert (one.get_job_id(), two.get_job_id()) == ("one-id", "two-id")
    assert names(1) == ["collection", "print"]
    assert one.get_job_status().result() is ps.JobStatus.RUNNING
    ends = one.get_job_execution_result(), two.get_job_execution_result()
    assert [e.done() for e in ends] == [False, False]
    assert one.get_accumulators().result() == {"map-1.numRecordsIn": 3}
    RecordingEngine.jobs[0].finish()
    assert ends[0].result().get_job_id() == "one-id"
    assert ends[0].exception() is None
    two.cancel().result()
    assert two.get_job_status().result() is ps.JobStatus.CANCELED
    with pytest.raises(JobError, match="JOB_CANCELED"):
        ends[1].result()
    assert isinstance(ends[1].exception(), JobError)
    assert ends[1].done()


def test_giving_up_on_a_result_leaves_the_job_alone() -> None:
    client = started(environment(), "one")
    end = client.get_job_execution_result()
    assert end.cancel()
    assert end.cancelled()
    RecordingEngine.jobs[0].finish()
    assert client.get_job_execution_result().result().get_job_id() == "one-id"


def test_savepoints_are_taken_by_the_job() -> None:
    client = started(environment(), "one")
    assert client.trigger_savepoint("/save").result() == "/save/one-id"
    assert client.stop_with_savepoint(True).result() == "drain/one-id"
    assert client.stop_with_savepoint(False, "/save").result() == "/save stop/one-id"


def test_futures() -> None:
    released = threading.Event()

    def waits() -> int:
        released.wait(120)
        return 7

    slow = CompletableFuture.running(waits, "slow")
    assert not slow.done()
    assert "not completed" in str(slow)
    assert slow.exception() is None
    released.set()
    assert slow.result() == 7
    assert str(slow) == "CompletableFuture[completed]"

    def fails() -> int:
        raise ValueError("no")

    failing = CompletableFuture.running(fails, "fails")
    with pytest.raises(ValueError, match="no"):
        failing.result()
    assert str(failing) == "CompletableFuture[failed]"


def test_statuses_that_are_the_end() -> None:
    over = {s.name for s in ps.JobStatus if s.is_terminal_state()}
    assert over == {"FAILED", "CANCELED", "FINISHED", "SUSPENDED"}
    assert not ps.JobStatus.SUSPENDED.is_globally_terminal_state()
    assert [s.value for s in ps.JobStatus] == list(range(10))
