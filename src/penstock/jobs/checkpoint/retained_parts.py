"""The positions of sources and the data of sinks in the checkpoint of a stopped job, for a job that starts from it."""

from __future__ import annotations

import os
from typing import Any

from penstock.connectors.sink import Sink
from penstock.connectors.source import Source
from penstock.engine.program.pickling import copy_by_value
from penstock.engine.program.program import Program
from penstock.jobs.checkpoint.checkpoint import sink_folder
from penstock.savepoints.manifest import SavedSink
from penstock.savepoints.savepoint import Savepoint


def add_retained_parts(savepoint: Savepoint, folder: str, program: Program) -> None:
    """Completes the savepoint of a checkpoint.

    The sources of the program that starts from it convert the stored offsets to positions. Its sinks read their files in the
    checkpoint.
    """
    for source in savepoint.manifest.sources:
        source.position = _position(folder, program, source.uid, source.position)
    savepoint.manifest.sinks = _sinks(folder, program)


def _sinks(folder: str, program: Program) -> list[SavedSink]:
    found = []
    for uid, name, sink in zip(program.sink_uids, program.sink_names, program.sinks, strict=True):
        own = sink_folder(folder, uid)
        if os.path.isdir(own):
            copy: Sink = copy_by_value(sink)  # the original will be attached to the new checkpoint
            copy.attach(own)
            found.append(SavedSink(uid, name, type(sink).__name__, copy.memory()))
    return found


def _position(folder: str, program: Program, uid: str, offset: Any) -> Any:
    """Converts an offset to a position that is valid in another checkpoint. The source may need its files in the old one."""
    found = next((s.source for s in program.sources if s.uid == uid), None)
    if offset is None or found is None or found.native:
        return offset
    source: Source = copy_by_value(found)  # the original will be attached to the new checkpoint
    source.attach(os.path.join(folder, "penstock", "sources", uid))
    return source.position(offset)
