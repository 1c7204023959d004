"""What a Python worker of Spark's keeps between batches: unpickled programs, opened functions, open files."""

from __future__ import annotations

import atexit
import gc
import os
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import msgspec

from penstock.engine.host import LevelHost
from penstock.engine.logs import catching
from penstock.engine.mapper import Mapper
from penstock.engine.materials import FileMaterials
from penstock.engine.program import Program
from penstock.engine.slot_meta import SlotMeta
from penstock.runtime.store import Base, Store
from penstock.spark.pickling import unpickle_program
from penstock.spark.run_folder import RunFolder
from penstock.spark.working_copy import WorkingCopy

_COLLECTED_EVERY = 30.0  # seconds
_FORGOTTEN_AFTER = 10.0  # seconds that no batch of a job has run here, when another job's first one comes


def name() -> str:
    """What people call this process."""
    return f"{socket.gethostname()}:{os.getpid()}"


class _Kept:
    """All that a worker keeps of one job."""

    def __init__(self) -> None:
        self.used = 0.0
        self.program: Program | None = None
        self.mappers: dict[tuple[int, int], Mapper] = {}
        self.hosts: dict[
            tuple[int, int], tuple[LevelHost, bytes, bytes]
        ] = {}  # host, its tables, token of its last batch
        self.copies: dict[str, WorkingCopy] = {}

    def close(self) -> None:
        for mapper in self.mappers.values():
            mapper.close()
        for host, *_ in self.hosts.values():
            host.close()
        for copy in self.copies.values():
            copy.close()


_jobs: dict[str, _Kept] = {}  # by the key of their programs


def _kept(key: str) -> _Kept:
    """What is kept of a job. A worker may outlive many jobs: it forgets those that have not run for a while."""
    kept = _jobs.get(key)
    now = time.monotonic()
    if kept is None:
        for old in [k for k, other in _jobs.items() if now - other.used > _FORGOTTEN_AFTER]:
            _jobs.pop(old).close()
            gc.unfreeze()
            gc.collect()  # hosts and their contexts know each other, and their caches are large
        kept = _jobs[key] = _Kept()
    kept.used = now
    return kept


def program_of(key: str, data: bytes) -> Program:
    """The program, unpickled once per worker."""
    kept = _kept(key)
    if kept.program is None:
        kept.program = unpickle_program(data)
    return kept.program


def mapper_of(key: str, data: bytes, source: int, subtask: int) -> Mapper:
    kept = _kept(key)
    mapper = kept.mappers.get((source, subtask))
    if mapper is None:
        program = unpickle_program(data)
        mapper = kept.mappers[source, subtask] = Mapper(program, program.sources[source], subtask)
    return mapper


def host_of(
    key: str, data: bytes, level: int, slot: int, view: Base, meta: SlotMeta, token: bytes, materialized: str
) -> LevelHost:
    """The host of a slot, with its functions opened once per worker; tables and clocks are those of the last batch."""
    tables = msgspec.msgpack.encode([(t.operator, t.name, t.number) for t in meta.tables])
    known = _kept(key).hosts.get((level, slot))
    if known is not None and known[1] == tables:
        host = known[0]
        host.store.base = view
        host.take_meta(meta, known[2] == token)
        return host
    if known is not None:
        known[0].close()
    return LevelHost(unpickle_program(data), level, slot, Store(view), meta, FileMaterials(materialized))


def keep_host(key: str, host: LevelHost, token: bytes) -> None:
    tables = msgspec.msgpack.encode([(t.operator, t.name, t.number) for t in host.tables.all()])
    _kept(key).hosts[host.level, host.slot] = (host, tables, token)


def copy_of(key: str, folder: str, size_limit: int) -> WorkingCopy:
    """A slot's working copy: a process may open an LMDB file only once."""
    copies = _kept(key).copies
    copy = copies.get(folder)
    if copy is None:
        # A resumed job has another program and the same folder.
        before = (other.copies.pop(folder, None) for other in _jobs.values())
        copy = copies[folder] = next(filter(None, before), None) or WorkingCopy(folder, size_limit)
    return copy


def _forget_all() -> None:
    while _jobs:
        _jobs.popitem()[1].close()


atexit.register(_forget_all)


def heard_logs(run_folder: str) -> AbstractContextManager[object]:
    """Catches what functions log: for the run's folder where that is on this machine, else for the batch's report."""
    folder = RunFolder(run_folder)
    return catching(folder.tell_logs if folder.takes_logs() else None)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Python's cycle collector walks all of a batch's elements again and again, and finds nothing: it waits for the end."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        _garbage.set_aside()
        if was_on:
            gc.enable()


class _Garbage:
    """Spares the collector what a worker keeps.

    Spark has it look at everything after each task: a hundred thousand objects of modules and programs alone, for 15 ms and
    more, several times a batch. What is there at a task's end is set aside instead, and given back now and then, so that
    cycles of what has become garbage since are found.
    """

    def __init__(self) -> None:
        self._given_back = time.monotonic()

    def set_aside(self) -> None:
        now = time.monotonic()
        if now - self._given_back < _COLLECTED_EVERY:
            gc.freeze()
        else:
            gc.unfreeze()
            self._given_back = now


_garbage = _Garbage()
