"""Hands the state of a slot after a batch to the process that writes it (`savepoint_writer`)."""

from __future__ import annotations

import os
import secrets
import select
import socket
import subprocess
import sys
from contextlib import suppress

import msgspec

from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire.frames import SavepointPartHandle, SavepointRequest
from penstock.jobs.registry.process import process_start_time
from penstock.runtime.state.store import Changes
from penstock.savepoints.slot_part import SlotAssignment
from penstock.spark.savepoint.savepoint_writer import WriteAnswer, WriteRequest, receive, send

_TIMEOUT = 60.0  # seconds until a writer that does not answer counts as failed
_detached: list[subprocess.Popen[bytes]] = []  # writers that may still run; polled so that they do not stay as zombies


class SnapshotHandoff:
    """The handoff of one slot for one savepoint, from before the batch until the writer has everything that it needs."""

    def __init__(self, save: SavepointRequest, file: str, size_limit: int) -> None:
        self._save = save
        self._error = ""
        self._writer: subprocess.Popen[bytes] | None = None
        _detached[:] = [writer for writer in _detached if writer.poll() is None]
        try:
            self._writer = subprocess.Popen(
                [sys.executable, "-m", "penstock.spark.savepoint.savepoint_writer", file, str(size_limit)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # it must not end with the worker
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError as error:
            self._error = f"its writer process cannot be started: {error}"

    def hand_over(
        self, assignment: SlotAssignment, meta: SlotMetadata, changes: Changes, tokens: list[bytes], run_folder: str
    ) -> SavepointPartHandle:
        """Sends the writer what to write. After that the slot may continue."""
        name = f"{assignment.level}-{assignment.slot}-{secrets.token_hex(4)}"
        part = SavepointPartHandle(self._save.id, name, socket.gethostname(), error=self._error)
        writer = self._writer
        if writer is None:
            return part
        part.pid, part.started = writer.pid, process_start_time(writer.pid)
        flat: list[bytes | None] = [item for entry in changes.items() for item in entry]
        try:
            assert writer.stdin is not None
            send(writer.stdin, WriteRequest(self._save.folder, name, assignment, meta, tokens, flat, run_folder))  # type: ignore[arg-type]
            part.error = self._read_answer(writer)
        except OSError as error:
            part.error = f"its writer process ended immediately: {error}"
        self._detach()
        return part

    @staticmethod
    def _read_answer(writer: subprocess.Popen[bytes]) -> str:
        assert writer.stdout is not None
        if not select.select([writer.stdout], [], [], _TIMEOUT)[0]:
            writer.kill()
            return f"its writer process did not answer within {_TIMEOUT:.0f} s"
        data = receive(writer.stdout)  # type: ignore[arg-type]
        return (
            "its writer process ended immediately"
            if data is None
            else msgspec.msgpack.decode(data, type=WriteAnswer).error
        )

    def _detach(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            for pipe in (writer.stdin, writer.stdout):
                with suppress(OSError):
                    assert pipe is not None
                    pipe.close()
            _detached.append(writer)

    def close(self) -> None:
        """Detaches the writer after a failed batch. Without a request it ends by itself."""
        self._detach()
