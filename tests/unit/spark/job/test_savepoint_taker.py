"""The driver's side of a savepoint, with a job that does what the test says: nothing of Spark runs."""

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
from penstock.connectors.file.system import file_system
from penstock.datastream.job_status import JobStatus
from penstock.engine.frames import SavedPart
from penstock.engine.program import build
from penstock.engine.slot_meta import SlotMeta
from penstock.jobs.process import start_of, this_process
from penstock.jobs.savepoints import SavepointAnswer, new_request
from penstock.runtime.state.backend import Table
from penstock.runtime.store import MemoryBase
from penstock.savepoints import open_savepoint
from penstock.savepoints.catalogue import found_in
from penstock.savepoints.part import SlotPlace, in_chunks, write_part
from penstock.spark.run_folder import AskedSavepoint, RunFolder, SavedBatch
from penstock.spark.savepoint_taker import SavepointTaker
from tests.connectors.conftest import ObjectStore, _moto, s3  # noqa: F401 - fixtures


class Job:
    """A running job of one operator with two slots; a thread stands for Spark and its workers."""

    def __init__(self, folder: Path) -> None:
        env = ps.StreamExecutionEnvironment(Configuration({"execution.engine": "no.engine:here"})).set_parallelism(2)
        env.from_collection([1]).key_by(lambda n: n).reduce(lambda a, b: a + b).uid("sums").print()
        self.program = build(env.graph("orders"))
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
        self.told: list[SavepointAnswer] = []
        self.over = False

    def status(self) -> JobStatus:
        return self.state

    def asked(self) -> AskedSavepoint | None:
        """What is asked of the job; None when nothing was, and nothing will be."""
        while (asked := self.folder.savepoint_asked()) is None and not self.over:
            time.sleep(0.01)
        return asked

    def part(self, asked: AskedSavepoint, slot: int, name: str = "") -> SavedPart:
        """A part that a process has written."""
        base = MemoryBase()
        base.apply({b"\x00\x01\x00" + bytes([slot * 64]) + b"key": b"value"})
        part = SavedPart(asked.id, name or f"1-{slot}-abcd", this_process().host, 1, "ended")
        meta = SlotMeta(batch=7, tables=[Table(1, "sums", "state", "value", "pickle")])
        system = file_system(asked.folder)
        write_part(
            system, asked.folder, part.name, SlotPlace(1, slot, {}, 128), meta, in_chunks(base.scan), time.monotonic()
        )
        return part

    def commit(self, asked: AskedSavepoint, *parts: SavedPart, batch: int = 7) -> None:
        (Path(self.checkpoint.spark) / "offsets" / str(batch)).write_text('v1\n{}\n{"n": 3}\n{"n": 1}')
        self.folder.tell_position(0, {"n": 1}, {"n": 1, "more": "facts"})
        self.folder.tell_saved(SavedBatch(asked.id, batch, list(parts), {0: {"hidden": 1}}))
        (Path(self.checkpoint.spark) / "commits" / str(batch)).write_text("v1")

    def save(
        self, directory: str, during: Callable[[AskedSavepoint], None], end: Any = "", **options: Any
    ) -> SavepointAnswer:
        """Takes a savepoint, while `during` does what Spark would do."""

        def work() -> None:
            asked = self.asked()
            if asked is not None:
                during(asked)

        self.over = False
        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        taker: Any = SavepointTaker(self, Configuration(options))  # type: ignore[arg-type]
        heard: list[SavepointAnswer] = []
        taker.take(new_request(directory, end), heard.append)
        self.over = True
        worker.join()
        self.told = heard
        return heard[-1]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path / "job")


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "local":
        yield str(tmp_path / "saved")
        return
    store: ObjectStore = request.getfixturevalue("s3")
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.options["endpoint_override"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", store.options["access_key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", store.options["secret_key"])
    monkeypatch.setenv("AWS_REGION", store.options["region"])
    yield f"{store.path}/saved"


def whole(job: Job) -> Callable[[AskedSavepoint], None]:
    return lambda asked: job.commit(asked, job.part(asked, 0), job.part(asked, 1))


def test_a_savepoint_on_any_file_system(job: Job, place: str) -> None:
    def during(asked: AskedSavepoint) -> None:
        job.part(asked, 1, "1-1-old")  # of an attempt whose batch ran again
        whole(job)(asked)

    answer = job.save(place, during, end="stop")
    assert (answer.status, answer.error, answer.batch, answer.parts, answer.written) == ("done", "", 7, 2, 2)
    savepoint = open_savepoint(answer.path)
    manifest = savepoint.manifest
    assert savepoint.verify() == []
    assert [s.position for s in manifest.sources] == [{"n": 1, "more": "facts"}]
    assert [s.memory for s in manifest.sinks] == [{"hidden": 1}]
    assert (manifest.control, manifest.ended, manifest.lineage) == ({"n": 3}, "stop", "line")
    assert [(s.name, s.entries) for s in manifest.operators[0].states] == [("state", 2)]
    assert sorted(savepoint.system.names(answer.path)) == ["1-0-abcd", "1-1-abcd", "manifest.json"]
    assert job.folder.finished(), "the job ends with it"
    assert job.folder.stop_asked() == {"drain": False}, "no batch comes behind it"
    assert job.folder.savepoint_asked() is None
    assert [s.path for s in found_in(place)] == [answer.path]


def nothing_left(place: str) -> bool:
    system = file_system(place)
    return not system.is_folder(place) or list(system.below(place)) == []


def test_a_part_whose_process_was_killed(job: Job, place: str) -> None:
    def during(asked: AskedSavepoint) -> None:
        lost = SavedPart(asked.id, "1-1-abcd", this_process().host, 2**22 - 3, "never")
        job.commit(asked, job.part(asked, 0), lost)

    answer = job.save(place, during, end="stop")
    assert (answer.status, answer.code) == ("failed", "SAVEPOINT_PART")
    assert "slot 1 of level 1" in answer.error
    assert "killed" in answer.error
    assert nothing_left(place)
    assert not job.folder.finished(), "the job goes on"
    assert job.folder.stop_asked() is None
    assert job.folder.savepoint_asked() is None


def test_a_part_that_could_not_be_written_is_told_with_its_reason(job: Job, tmp_path: Path) -> None:
    def during(asked: AskedSavepoint) -> None:
        (job.folder.path / "failed-1-1-abcd").write_text("OSError: no space left")
        job.commit(asked, job.part(asked, 0), SavedPart(asked.id, "1-1-abcd", this_process().host, 2**22 - 3, "never"))

    assert "no space left" in job.save(str(tmp_path / "saved"), during).error

    def refused(asked: AskedSavepoint) -> None:
        job.commit(asked, SavedPart(asked.id, "1-1-abcd", error="the working copy had moved on"), batch=8)

    assert "moved on" in job.save(str(tmp_path / "saved"), refused).error


def test_a_writer_that_outlives_a_failed_savepoint_leaves_nothing(job: Job, tmp_path: Path) -> None:
    place = tmp_path / "saved"

    def during(asked: AskedSavepoint) -> None:
        late = subprocess.Popen(["sh", "-c", f"sleep 1; mkdir -p '{asked.folder}'; touch '{asked.folder}/1-0-abcd'"])
        slow = SavedPart(asked.id, "1-0-abcd", this_process().host, late.pid, start_of(late.pid))
        job.commit(asked, SavedPart(asked.id, "1-1-abcd", error="no"), slow)
        late.wait()

    assert job.save(str(place), during).status == "failed"
    time.sleep(0.1)
    assert nothing_left(str(place))
    assert list(place.iterdir()) == []


def test_a_job_that_ends_meanwhile(job: Job, tmp_path: Path) -> None:
    def during(asked: AskedSavepoint) -> None:
        job.state = JobStatus.FAILED

    assert job.save(str(tmp_path / "saved"), during).code == "SAVEPOINT_JOB_ENDED"
    assert nothing_left(str(tmp_path / "saved"))
    assert job.save(str(tmp_path / "saved"), during).code == "SAVEPOINT_JOB_ENDED"


def test_one_that_takes_too_long(job: Job, tmp_path: Path) -> None:
    answer = job.save(str(tmp_path / "saved"), lambda asked: None, **{"execution.checkpointing.timeout": "200 ms"})
    assert answer.code == "SAVEPOINT_EXPIRED"
    assert "its batch is not committed" in answer.error


def test_a_batch_counts_once_it_is_committed(job: Job, tmp_path: Path) -> None:
    def during(asked: AskedSavepoint) -> None:
        job.folder.tell_saved(
            SavedBatch(asked.id, 7, [SavedPart(asked.id, "1-0-gone", error="of an attempt that failed")])
        )
        time.sleep(0.2)
        whole(job)(asked)

    assert job.save(str(tmp_path / "saved"), during).status == "done"


def test_where_savepoints_go_and_how_many_are_kept(job: Job, tmp_path: Path) -> None:
    assert Path(job.save("", whole(job)).path).parent == tmp_path / "savepoints"
    kept = {
        "execution.checkpointing.savepoint-dir": str(tmp_path / "kept"),
        "execution.checkpointing.savepoint-retention.count": 2,
        "jobs.registry.dir": str(tmp_path / "home"),
    }
    paths = [job.save("", whole(job), **kept).path for _ in range(3)]
    assert [s.path for s in found_in(str(tmp_path / "kept"))] == paths[1:]


def test_jobs_that_have_no_savepoints_say_why(job: Job, tmp_path: Path) -> None:
    job.real_time = True
    answer = job.save(str(tmp_path), lambda asked: None)
    assert (answer.status, answer.code) == ("failed", "SAVEPOINTS")
