"""What a Python worker of Spark caches between batches: unpickled programs, opened functions and open files."""

from __future__ import annotations

import atexit
import gc
import os
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import msgspec

from penstock.engine.host.host import LevelHost
from penstock.engine.host.mapper import Mapper
from penstock.engine.host.materialized import FileMaterializedStore
from penstock.engine.program.program import Program
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire import log_capture
from penstock.runtime.state.store import ReadView, Store
from penstock.runtime.state.tables import StateTable
from penstock.runtime.user_classes import ProgramClasses
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.garbage import garbage
from penstock.spark.session.pickling import load_program
from penstock.spark.session.worker_setup import WorkerSetup
from penstock.spark.state.working_copy import WorkingCopy

_UNUSED_AFTER = 10.0  # seconds without a batch, after which a job is removed when another job starts here


def worker_name() -> str:
    """Returns a readable name of this process."""
    return f"{socket.gethostname()}:{os.getpid()}"


class _CachedHost(NamedTuple):
    """A host after its last batch."""

    host: LevelHost
    tables: bytes  # its state tables, encoded
    token: bytes  # of the state after its last batch


class _JobCache:
    """What a worker caches of one job."""

    def __init__(self) -> None:
        self.used = 0.0
        self.program: Program | None = None
        self.classes: ProgramClasses | None = None
        self.setup = WorkerSetup()
        self.log_levels: dict[str, str] = {}
        self.mappers: dict[tuple[int, int], Mapper] = {}
        self.hosts: dict[tuple[int, int], _CachedHost] = {}  # by level and slot
        self.copies: dict[str, WorkingCopy] = {}

    def unpickle(self, data: bytes) -> Program:
        """Returns a new copy of the program. Subtasks do not share functions, but all copies have the same classes."""
        with _lock:
            program, classes, setup = load_program(data)
            if self.classes is None:
                self.classes, self.setup, self.log_levels = classes, setup, program.log_levels
            self.activate()
            return program

    def activate(self) -> None:
        """Sets this process up for the functions of the job. Another job may have run in this worker since."""
        if self.classes is not None:
            self.classes.activate()
            self.setup.activate()
            log_capture.set_levels(self.log_levels)

    def close(self) -> None:
        for mapper in self.mappers.values():
            mapper.close()
        for cached in self.hosts.values():
            cached.host.close()
        for copy in self.copies.values():
            copy.close()


_jobs: dict[str, _JobCache] = {}  # by the key of their programs
_lock = threading.RLock()  # the functions and the sinks of a task run in two threads


def _job_cache(key: str) -> _JobCache:
    """Returns the cache of a job. A worker may outlive many jobs, so jobs that have not run for a while are removed."""
    with _lock:
        cache = _jobs.get(key)
        now = time.monotonic()
        if cache is None:
            for old in [k for k, other in _jobs.items() if now - other.used > _UNUSED_AFTER]:
                _jobs.pop(old).close()
                garbage.collect_all()  # hosts and their contexts refer to each other, and their caches are large
            cache = _jobs[key] = _JobCache()
        cache.used = now
        cache.activate()
        return cache


def get_program(key: str, data: bytes) -> Program:
    """Returns the program, unpickled once per worker."""
    with _lock:
        cache = _job_cache(key)
        if cache.program is None:
            cache.program = cache.unpickle(data)
        return cache.program


def get_mapper(key: str, data: bytes, source: int, subtask: int) -> Mapper:
    cache = _job_cache(key)
    mapper = cache.mappers.get((source, subtask))
    if mapper is None:
        program = cache.unpickle(data)
        mapper = cache.mappers[source, subtask] = Mapper(program, program.sources[source], subtask)
    return mapper


def get_host(
    key: str, data: bytes, level: int, slot: int, view: ReadView, meta: SlotMetadata, token: bytes, materialized: str
) -> LevelHost:
    """Returns the host of a slot, with the tables and clocks of the last batch. Its functions are opened once per worker."""
    tables = _encode_tables(meta.tables)
    cached = _job_cache(key).hosts.get((level, slot))
    if cached is not None and cached.tables == tables:
        host = cached.host
        host.store.base = view
        host.restore_metadata(meta, cached.token == token)
        return host
    if cached is not None:
        cached.host.close()
    return LevelHost(
        _job_cache(key).unpickle(data), level, slot, Store(view), meta, FileMaterializedStore(materialized)
    )


def cache_host(key: str, host: LevelHost, token: bytes) -> None:
    _job_cache(key).hosts[host.level, host.slot] = _CachedHost(host, _encode_tables(host.tables.all()), token)


def _encode_tables(tables: Iterable[StateTable]) -> bytes:
    return msgspec.msgpack.encode([(t.operator, t.name, t.number) for t in tables])


def get_working_copy(key: str, folder: str, size_limit: int) -> WorkingCopy:
    """Returns the working copy of a slot. A process may open an LMDB file only once."""
    copies = _job_cache(key).copies
    copy = copies.get(folder)
    if copy is None:
        # A resumed job has another key and the same folder.
        before = (other.copies.pop(folder, None) for other in _jobs.values())
        copy = copies[folder] = next(filter(None, before), None) or WorkingCopy(folder, size_limit)
    return copy


def _close_all() -> None:
    while _jobs:
        _jobs.popitem()[1].close()


atexit.register(_close_all)


def forward_logs(run_folder: str) -> AbstractContextManager[object]:
    """Captures log lines of functions, for the run folder if it is on this machine, otherwise for the report of the batch."""
    folder = RunFolder(run_folder)
    return log_capture.capture_logs(folder.write_logs if folder.accepts_logs() else None)


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Pauses the cycle collector. It would scan all elements of a batch again and again and find nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        garbage.end_task()
        if was_on:
            gc.enable()
