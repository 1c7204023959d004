"""Taking savepoints on the driver, with a fake job and without Spark."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import penstock as ps
from penstock.config import Configuration
from penstock.connectors.file.system.file_system import file_system
from penstock.datastream.jobs.job_status import JobStatus
from penstock.engine.program.builder import build_program
from penstock.engine.slots.control import RequestedSavepoint, StopRequest
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire.frames import SavepointPartHandle
from penstock.jobs.registry.process import process_start_time, this_process
from penstock.jobs.registry.savepoint_requests import SavepointProgress, new_savepoint_request
from penstock.runtime.state.store import MemoryView
from penstock.runtime.state.tables import StateTable
from penstock.savepoints import open_savepoint
from penstock.savepoints.catalogue import find_savepoints
from penstock.savepoints.slot_part import SlotAssignment, chunked_scan, write_part
from penstock.spark.job.savepoint_taker import SavepointTaker
from penstock.spark.report.run_folder import RunFolder, SavepointBatch
from tests.unit.connectors.conftest import ObjectStore, _moto, s3  # noqa: F401 - fixtures
from tests.waiting import until


class Job:
    """A running job of one operator with two slots. A thread acts as Spark and its workers."""

    def __init__(self, folder: Path) -> None:
        env = ps.StreamExecutionEnvironment(Configuration({"execution.engine": "no.engine:here"})).set_parallelism(2)
        env.from_collection([1]).key_by(lambda n: n).reduce(lambda a, b: a + b).uid("sums").print()
        self.program = build_program(env.graph("orders"))
        self.job_id = "0123456789"
        self.real_time = False
        self.folder = RunFolder(folder / "run")
        self.folder.path.mkdir(parents=True)
        (folder / "spark" / "commits").mkdir(parents=True)
        (folder / "spark" / "offsets").mkdir()
        self.checkpoint = SimpleNamespace(
            spark=str(folder / "spark"), folder=str(folder), lineage="line", from_savepoint="", job_id=self.job_id
        )
        self.state = JobStatus.RUNNING
        self.reports: list[SavepointProgress] = []
        self.over = False

    def status(self) -> JobStatus:
        return self.state

    def wait_for_request(self) -> RequestedSavepoint | None:
        """The next savepoint request; None if the test is over."""
        while (requested := self.folder.requested_savepoint()) is None and not self.over:
            time.sleep(0.01)
        return requested

    def part(self, requested: RequestedSavepoint, slot: int, name: str = "") -> SavepointPartHandle:
        """Writes the part of a slot."""
        base = MemoryView()
        base.apply({b"\x00\x01\x00" + bytes([slot * 64]) + b"key": b"value"})
        part = SavepointPartHandle(requested.id, name or f"1-{slot}-abcd", this_process().host, 1, "ended")
        meta = SlotMetadata(batch=7, tables=[StateTable(1, "sums", "state", "value", "pickle")])
        system = file_system(requested.folder)
        write_part(
            system,
            requested.folder,
            part.name,
            SlotAssignment(1, slot, {}, 128),
            meta,
            chunked_scan(base.scan),
            time.monotonic(),
        )
        return part

    def commit(self, requested: RequestedSavepoint, *parts: SavepointPartHandle, batch: int = 7) -> None:
        (Path(self.checkpoint.spark) / "offsets" / str(batch)).write_text('v1\n{}\n{"n": 3}\n{"n": 1}')
        self.folder.write_position(0, {"n": 1}, {"n": 1, "more": "facts"})
        self.folder.write_savepoint_batch(SavepointBatch(requested.id, batch, list(parts), {0: {"hidden": 1}}))
        (Path(self.checkpoint.spark) / "commits" / str(batch)).write_text("v1")

    def save(
        self, directory: str, during: Callable[[RequestedSavepoint], None], end: Any = "", **options: Any
    ) -> SavepointProgress:
        """Takes a savepoint while `during` acts as Spark."""

        def work() -> None:
            requested = self.wait_for_request()
            if requested is not None:
                during(requested)

        self.over = False
        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        taker: Any = SavepointTaker(self, Configuration(options))  # type: ignore[arg-type]
        reports: list[SavepointProgress] = []
        taker.take(new_savepoint_request(directory, end), reports.append)
        self.over = True
        worker.join()
        self.reports = reports
        return reports[-1]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path / "job")


@pytest.fixture(params=["local", "s3"])
def target(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "local":
        yield str(tmp_path / "saved")
        return
    store: ObjectStore = request.getfixturevalue("s3")
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.options["endpoint_override"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", store.options["access_key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", store.options["secret_key"])
    monkeypatch.setenv("AWS_REGION", store.options["region"])
    yield f"{store.path}/saved"


def write_all(job: Job) -> Callable[[RequestedSavepoint], None]:
    return lambda requested: job.commit(requested, job.part(requested, 0), job.part(requested, 1))


def test_a_savepoint_on_any_file_system(job: Job, target: str) -> None:
    def during(requested: RequestedSavepoint) -> None:
        job.part(requested, 1, "1-1-old")  # of an attempt whose batch was repeated
        write_all(job)(requested)

    progress = job.save(target, during, end="stop")
    assert (progress.status, progress.error, progress.batch, progress.parts, progress.written) == ("done", "", 7, 2, 2)
    savepoint = open_savepoint(progress.path)
    manifest = savepoint.manifest
    assert savepoint.verify() == []
    assert [s.position for s in manifest.sources] == [{"n": 1, "more": "facts"}]
    assert [s.memory for s in manifest.sinks] == [{"hidden": 1}]
    assert (manifest.control, manifest.ended, manifest.lineage) == ({"n": 3}, "stop", "line")
    assert [(s.name, s.entries) for s in manifest.operators[0].states] == [("state", 2)]
    assert sorted(savepoint.system.list_names(progress.path)) == ["1-0-abcd", "1-1-abcd", "manifest.json"]
    assert job.folder.is_finished(), "the job stops after the savepoint"
    assert job.folder.stop_request() == StopRequest(drain=False), "no batch follows"
    assert job.folder.requested_savepoint() is None
    assert [s.path for s in find_savepoints(target)] == [progress.path]


def is_empty(target: str) -> bool:
    system = file_system(target)
    return not system.is_folder(target) or list(system.list_recursively(target)) == []


def test_a_part_whose_process_was_killed(job: Job, target: str) -> None:
    def during(requested: RequestedSavepoint) -> None:
        lost = SavepointPartHandle(requested.id, "1-1-abcd", this_process().host, 2**22 - 3, "never")
        job.commit(requested, job.part(requested, 0), lost)

    progress = job.save(target, during, end="stop")
    assert (progress.status, progress.code) == ("failed", "SAVEPOINT_PART")
    assert "slot 1 of level 1" in progress.error
    assert "killed" in progress.error
    assert is_empty(target)
    assert not job.folder.is_finished(), "the job continues"
    assert job.folder.stop_request() is None
    assert job.folder.requested_savepoint() is None


def test_a_part_that_cannot_be_written_is_reported_with_its_reason(job: Job, tmp_path: Path) -> None:
    def during(requested: RequestedSavepoint) -> None:
        (job.folder.path / "failed-1-1-abcd").write_text("OSError: no space left")
        job.commit(
            requested,
            job.part(requested, 0),
            SavepointPartHandle(requested.id, "1-1-abcd", this_process().host, 2**22 - 3, "never"),
        )

    assert "no space left" in job.save(str(tmp_path / "saved"), during).error

    def refused(requested: RequestedSavepoint) -> None:
        job.commit(
            requested, SavepointPartHandle(requested.id, "1-1-abcd", error="the working copy had moved on"), batch=8
        )

    assert "moved on" in job.save(str(tmp_path / "saved"), refused).error


def test_a_writer_that_outlives_a_failed_savepoint_leaves_nothing(job: Job, tmp_path: Path) -> None:
    target = tmp_path / "saved"

    def during(requested: RequestedSavepoint) -> None:
        late = subprocess.Popen(
            ["sh", "-c", f"sleep 1; mkdir -p '{requested.folder}'; touch '{requested.folder}/1-0-abcd'"]
        )
        slow = SavepointPartHandle(
            requested.id, "1-0-abcd", this_process().host, late.pid, process_start_time(late.pid)
        )
        job.commit(requested, SavepointPartHandle(requested.id, "1-1-abcd", error="no"), slow)
        late.wait()

    assert job.save(str(target), during).status == "failed"
    until(lambda: list(target.iterdir()) == [])
    assert is_empty(str(target))


def test_a_job_that_ends_meanwhile(job: Job, tmp_path: Path) -> None:
    def during(requested: RequestedSavepoint) -> None:
        job.state = JobStatus.FAILED

    assert job.save(str(tmp_path / "saved"), during).code == "SAVEPOINT_JOB_ENDED"
    assert is_empty(str(tmp_path / "saved"))
    assert job.save(str(tmp_path / "saved"), during).code == "SAVEPOINT_JOB_ENDED"


def test_a_savepoint_that_takes_too_long(job: Job, tmp_path: Path) -> None:
    progress = job.save(
        str(tmp_path / "saved"), lambda requested: None, **{"execution.checkpointing.timeout": "200 ms"}
    )
    assert progress.code == "SAVEPOINT_EXPIRED"
    assert "its batch is not committed" in progress.error


def test_a_batch_counts_once_it_is_committed(job: Job, tmp_path: Path) -> None:
    def during(requested: RequestedSavepoint) -> None:
        job.folder.write_savepoint_batch(
            SavepointBatch(
                requested.id, 7, [SavepointPartHandle(requested.id, "1-0-gone", error="of an attempt that failed")]
            )
        )
        time.sleep(0.2)
        write_all(job)(requested)

    assert job.save(str(tmp_path / "saved"), during).status == "done"


def test_the_savepoint_folder_and_retention(job: Job, tmp_path: Path) -> None:
    assert Path(job.save("", write_all(job)).path).parent == tmp_path / "savepoints"
    options = {
        "execution.checkpointing.savepoint-dir": str(tmp_path / "kept"),
        "execution.checkpointing.savepoint-retention.count": 2,
        "jobs.registry.dir": str(tmp_path / "home"),
    }
    paths = [job.save("", write_all(job), **options).path for _ in range(3)]
    assert [s.path for s in find_savepoints(str(tmp_path / "kept"))] == paths[1:]


def test_a_job_that_cannot_take_savepoints(job: Job, tmp_path: Path) -> None:
    job.real_time = True
    progress = job.save(str(tmp_path), lambda requested: None)
    assert (progress.status, progress.code) == ("failed", "SAVEPOINTS")
