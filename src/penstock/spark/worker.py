"""What a Python worker of Spark's keeps between batches: unpickled programs, opened functions, open files."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import msgspec

from penstock.engine.host import LevelHost
from penstock.engine.logs import catching
from penstock.engine.mapper import Mapper
from penstock.engine.materials import FileMaterials
from penstock.engine.program import Program
from penstock.engine.slot_meta import SlotMeta
from penstock.runtime.store import Store
from penstock.spark.pickling import unpickle_program
from penstock.spark.run_folder import RunFolder
from penstock.spark.working_copy import CopyView, WorkingCopy

_keys: set[str] = set()  # of the programs that anything below belongs to
_programs: dict[str, Program] = {}
_mappers: dict[tuple[str, int, int], Mapper] = {}
_hosts: dict[tuple[str, int, int], tuple[LevelHost, bytes, bytes]] = {}  # host, its tables, token of its last batch
_copies: dict[str, WorkingCopy] = {}
_MOST_PROGRAMS = 4


def program_of(key: str, data: bytes) -> Program:
    """The program, unpickled once per worker."""
    program = _programs.get(key)
    if program is None:
        _make_room(key)
        program = _programs[key] = unpickle_program(data)
    return program


def _make_room(key: str) -> None:
    """A worker that outlives many jobs does not keep them all."""
    if key not in _keys and len(_keys) >= _MOST_PROGRAMS:
        _forget_all()
    _keys.add(key)


def mapper_of(key: str, data: bytes, source: int, subtask: int) -> Mapper:
    mapper = _mappers.get((key, source, subtask))
    if mapper is None:
        _make_room(key)
        program = unpickle_program(data)
        mapper = _mappers[key, source, subtask] = Mapper(program, program.sources[source], subtask)
    return mapper


def host_of(
    key: str, data: bytes, level: int, slot: int, view: CopyView, meta: SlotMeta, token: bytes, materialized: str
) -> LevelHost:
    """The host of a slot, with its functions opened once per worker; tables and clocks are those of the last batch."""
    tables = msgspec.msgpack.encode([(t.operator, t.name, t.number) for t in meta.tables])
    known = _hosts.get((key, level, slot))
    if known is not None and known[1] == tables:
        host = known[0]
        host.store.base = view
        host.take_meta(meta, known[2] == token)
        return host
    if known is not None:
        known[0].close()
    _make_room(key)
    return LevelHost(unpickle_program(data), level, slot, Store(view), meta, FileMaterials(materialized))


def keep_host(key: str, host: LevelHost, token: bytes) -> None:
    tables = msgspec.msgpack.encode([(t.operator, t.name, t.number) for t in host.tables.all()])
    _hosts[key, host.level, host.slot] = (host, tables, token)


def copy_of(folder: str, size_limit: int) -> WorkingCopy:
    """A slot's working copy: a process may open an LMDB file only once."""
    copy = _copies.get(folder)
    if copy is None:
        copy = _copies[folder] = WorkingCopy(folder, size_limit)
    return copy


def _forget_all() -> None:
    for mapper in _mappers.values():
        mapper.close()
    for host, *_ in _hosts.values():
        host.close()
    for cache in (_keys, _programs, _mappers, _hosts):
        cache.clear()


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
        if was_on:
            gc.enable()
