"""A slot's state after a batch, handed to a process that writes it: the worker's side of `savepoint_writer`."""

from __future__ import annotations

import os
import secrets
import select
import socket
import subprocess
import sys
from contextlib import suppress

import msgspec

from penstock.engine.frames import Save, SavedPart
from penstock.engine.slot_meta import SlotMeta
from penstock.jobs.process import start_of
from penstock.runtime.store import Changes
from penstock.savepoints.part import SlotPlace
from penstock.spark.savepoint_writer import Seen, Work, receive, send

_PATIENCE = 60.0  # seconds until a writer that says nothing counts as failed
_ended: list[subprocess.Popen[bytes]] = []  # writers that may still be at work: their ends have to be asked for


class SlotSnapshot:
    """One slot's part of one savepoint, from before its batch until the writer has all it needs."""

    def __init__(self, save: Save, file: str, size_limit: int) -> None:
        self._save = save
        self._error = ""
        self._writer: subprocess.Popen[bytes] | None = None
        _ended[:] = [writer for writer in _ended if writer.poll() is None]
        try:
            self._writer = subprocess.Popen(
                [sys.executable, "-m", "penstock.spark.savepoint_writer", file, str(size_limit)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # it is not to end with the worker
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except OSError as error:
            self._error = f"the process that writes it cannot be started: {error}"

    def hand_over(
        self, place: SlotPlace, meta: SlotMeta, above: Changes, tokens: list[bytes], run_folder: str
    ) -> SavedPart:
        """Tells the writer what to write; when this returns, the slot may go on."""
        name = f"{place.level}-{place.slot}-{secrets.token_hex(4)}"
        part = SavedPart(self._save.id, name, socket.gethostname(), error=self._error)
        writer = self._writer
        if writer is None:
            return part
        part.pid, part.started = writer.pid, start_of(writer.pid)
        flat: list[bytes | None] = [item for entry in above.items() for item in entry]
        try:
            assert writer.stdin is not None
            send(writer.stdin, Work(self._save.folder, name, place, meta, tokens, flat, run_folder))  # type: ignore[arg-type]
            part.error = self._answer(writer)
        except OSError as error:
            part.error = f"the process that writes it ended at once: {error}"
        self._let_go()
        return part

    @staticmethod
    def _answer(writer: subprocess.Popen[bytes]) -> str:
        assert writer.stdout is not None
        if not select.select([writer.stdout], [], [], _PATIENCE)[0]:
            writer.kill()
            return f"the process that writes it gave no answer for {_PATIENCE:.0f} s"
        data = receive(writer.stdout)  # type: ignore[arg-type]
        return (
            "the process that writes it ended at once"
            if data is None
            else msgspec.msgpack.decode(data, type=Seen).error
        )

    def _let_go(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            for pipe in (writer.stdin, writer.stdout):
                with suppress(OSError):
                    assert pipe is not None
                    pipe.close()
            _ended.append(writer)

    def close(self) -> None:
        """The batch failed: a writer that was not told what to write ends by itself."""
        self._let_go()
