"""Writes new savepoints, changed savepoints, and savepoints that are joined from several ones."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from typing import Any

import msgspec

import penstock
from penstock.connectors.file.system.file_system import Options, absolute_path, file_system
from penstock.errors import StateError
from penstock.runtime.state.keys import encode_key
from penstock.savepoints import Manifest, SavedOperator, Savepoint, StateFile, StateFileWriter, publish
from penstock.savepoints.manifest import FORMAT, MANIFEST_FILE
from penstock.state import MapStateDescriptor, StateDescriptor
from penstock.state_processor.additions import Addition, WrittenAddition
from penstock.state_processor.blocks import BlockWriter
from penstock.state_processor.bootstrap import BootstrapTransformation
from penstock.state_processor.edits import SavepointEdits
from penstock.state_processor.entries import TIMER_TABLES
from penstock.state_processor.input_rows import Columns, RowLayout, Rows
from penstock.state_processor.open_savepoint import open_savepoint_or_checkpoint
from penstock.types import TypeInformation, type_information

Declared = TypeInformation | type | None


class OperatorIdentifier:
    """Identifies an operator of a savepoint, as in Flink."""

    def __init__(self, uid: str) -> None:
        self.uid = uid

    @staticmethod
    def for_uid(uid: str) -> OperatorIdentifier:
        """Returns the identifier of the operator with a uid."""
        return OperatorIdentifier(uid)


Uid = str | OperatorIdentifier


class SavepointWriter:
    """Collects changes, and writes a new savepoint with `write`. The savepoint that it starts from is not changed.

    >>> import tempfile
    >>> from penstock.state import ValueStateDescriptor
    >>> from penstock.state_processor import SavepointReader
    >>> folder = tempfile.mkdtemp()
    >>> total = ValueStateDescriptor("total", int)
    >>> new = SavepointWriter.new_savepoint(max_parallelism=8)
    >>> _ = new.with_state("totals", total, [{"key": "a", "value": 3}, {"key": "b", "value": 5}]).write(folder + "/1")
    >>> changed = SavepointWriter.from_existing_savepoint(folder + "/1")
    >>> _ = changed.with_state("totals", total, [{"key": "a", "value": 4}]).remove_keys("totals", ["b"])
    >>> SavepointReader.read(changed.write(folder + "/2").path).table("totals", "total").to_pylist()
    [{'key': 'a', 'value': 4}]
    """

    def __init__(self, parts: list[Savepoint], manifest: Manifest) -> None:
        self._parts = parts
        self._manifest = manifest
        self._edits = SavepointEdits(manifest.operators, manifest.max_parallelism)
        self._additions: list[Addition] = []

    @staticmethod
    def new_savepoint(max_parallelism: int = 128) -> SavepointWriter:
        """Starts with an empty savepoint.

        If `max_parallelism` differs from that of the job that starts from it, the restore computes new key groups.
        """
        return SavepointWriter([], _empty_manifest(max_parallelism))

    @staticmethod
    def from_existing_savepoint(
        path: str, storage_options: Options | None = None, *, scratch: str | None = None
    ) -> SavepointWriter:
        """Starts with the contents of a savepoint or a checkpoint. See `SavepointReader.read` for `scratch`."""
        base = open_savepoint_or_checkpoint(path, storage_options, scratch)
        return SavepointWriter([base], base.manifest)

    # -- changes

    def with_operator(self, identifier: Uid, transformation: BootstrapTransformation) -> SavepointWriter:
        """Adds the state that a bootstrap function creates from rows. The state of other keys of the operator stays."""
        return self._add(Addition(_uid(identifier), transformation.source, transformation.fill, transformation.key))

    def with_state(
        self,
        identifier: Uid,
        descriptor: StateDescriptor,
        rows: Rows,
        *,
        key: Columns = "key",
        value: Columns = "value",
        key_type: Declared = None,
        broadcast: bool = False,
    ) -> SavepointWriter:
        """Adds entries of a state from rows with `key` and `value`, and `map_key` for a map. Lists keep the order of rows.

        New entries of a key replace its old entries in this state. Other keys keep theirs. Rows are an Arrow table, a pandas or
        Spark DataFrame, or dicts. Several columns may form a key (a tuple) or a value (with their names).
        """
        map_key = descriptor.key_type if isinstance(descriptor, MapStateDescriptor) else None
        layout = RowLayout(key, value, _type(key_type), descriptor.value_type, map_key)

        def fill(image: Any, data: Rows) -> None:
            image.put(descriptor, layout.convert(data, with_key=not broadcast), broadcast=broadcast)

        return self._add(Addition(_uid(identifier), rows, fill, [] if broadcast else layout.key_columns))

    def with_timers(
        self, identifier: Uid, rows: Rows, *, key: Columns = "key", key_type: Declared = None
    ) -> SavepointWriter:
        """Adds timers from rows with `key`, `time` (milliseconds), and `kind` ("event" or "processing").

        New timers of a key replace its old timers.
        """
        layout = RowLayout(key, None, _type(key_type), None)

        def fill(image: Any, data: Rows) -> None:
            image.put_timers(layout.convert(data))

        return self._add(Addition(_uid(identifier), rows, fill, layout.key_columns, tuple(TIMER_TABLES)))

    def remove_operator(self, identifier: Uid) -> SavepointWriter:
        """Removes an operator with all its state."""
        uid = self._edits.operator(_uid(identifier)).uid
        del self._edits.operators[uid]
        return self

    def remove_state(self, identifier: Uid, state: str) -> SavepointWriter:
        """Removes a state of an operator."""
        self._edits.remove_state(_uid(identifier), state)
        return self

    def remove_keys(self, identifier: Uid, keys: Iterable[Any]) -> SavepointWriter:
        """Removes all state, windows and timers of some keys of an operator."""
        uid = self._edits.operator(_uid(identifier)).uid
        self._edits.remove_keys(uid, (encode_key(k)[0] for k in keys))
        return self

    def change_operator_identifier(self, before: Uid, after: Uid) -> SavepointWriter:
        """Changes the uid of an operator."""
        old, new = _uid(before), _uid(after)
        self._edits.operator(old)
        if new in self._edits.operators:
            raise _clash([new])
        self._edits.rename_operator(old, new)
        for addition in self._additions:
            if addition.uid == old:
                addition.uid = new
        return self

    def join(self, path: str, storage_options: Options | None = None) -> SavepointWriter:
        """Adds all operators, sources and sinks of another savepoint. Raises an error if both have the same uid."""
        other = open_savepoint_or_checkpoint(path, storage_options)
        manifest, added = self._manifest, other.manifest
        clashes = [o.uid for o in added.operators if o.uid in self._edits.operators]
        clashes += _common_uids(manifest.sources, added.sources) + _common_uids(manifest.sinks, added.sinks)
        if clashes:
            raise _clash(clashes)
        self._edits.add_part(len(self._parts), added.operators)
        self._parts.append(other)
        depth = max((level.level for level in manifest.levels), default=0)
        levels = [msgspec.structs.replace(level, level=depth + level.level) for level in added.levels]
        self._manifest = msgspec.structs.replace(
            manifest,
            sources=[*manifest.sources, *added.sources],
            sinks=[*manifest.sinks, *added.sinks],
            levels=[*manifest.levels, *levels],
        )
        return self

    def _add(self, addition: Addition) -> SavepointWriter:
        operators = self._edits.operators
        if addition.uid not in operators:
            operators[addition.uid] = SavedOperator(addition.uid, addition.uid, "", True, 1)
        self._additions.append(addition)
        return self

    # -- writing

    def write(self, path: str, storage_options: Options | None = None) -> Savepoint:
        """Writes the savepoint to a path without a savepoint, and returns it.

        If writing fails, no savepoint is left.
        """
        path = absolute_path(path).rstrip("/")
        system = file_system(path, storage_options)
        if system.get_status(f"{path}/{MANIFEST_FILE}") is not None:
            raise StateError(
                "SAVEPOINT_EXISTS", f"{path} already contains a savepoint. Choose another path, or delete it."
            )
        blocks = BlockWriter(self._manifest.max_parallelism)
        files: list[StateFile] = []
        existing = set(system.list_names(path))
        try:
            for number, addition in enumerate(self._additions):
                written = addition.write(path, storage_options, f"new-{number}", self._manifest.max_parallelism)
                files += written.files
                self._add_states(addition, written, blocks)
            for number, part in enumerate(self._parts):
                for index, file in enumerate(part.manifest.files):
                    writer = StateFileWriter(system, path, f"part-{number}-{index}")
                    files.append(self._edits.copy_file(part, number, file, writer, blocks))
                part.copy_sink_files(system, path)
        except BaseException:
            for name in system.list_names(path):
                if name not in existing:
                    system.remove(f"{path}/{name}")
            system.remove_empty_folder(path)
            raise
        return publish(path, self._final_manifest(files, blocks), storage_options)

    def _add_states(self, addition: Addition, written: WrittenAddition, blocks: BlockWriter) -> None:
        """Adds the states of an addition to its operator, and marks the entries that it replaces."""
        operator = self._edits.operators[addition.uid]
        existing = {s.name: s for s in operator.states}
        for state in written.states:
            before = existing.get(state.name)
            if before is not None and (before.kind, before.schema) != (state.kind, state.schema):
                raise StateError(
                    "STATE_DIFFERS",
                    f"State '{state.name}' of operator '{addition.uid}' is {before.kind} state of {before.schema} in the "
                    f"savepoint, and the new entries are {state.kind} state of {state.schema}. Use values of the saved type, or "
                    "call remove_state() first.",
                )
            if before is None:
                operator.states.append(msgspec.structs.replace(state, entries=0, size=0))
            blocks.count(addition.uid, state.name, state.entries, state.size)
        for name in {*written.keys, *addition.replaces}:
            all_keys = name in addition.replaces
            keys = set().union(*written.keys.values()) if all_keys else written.keys[name]
            self._edits.replace_keys(addition.uid, name, keys)

    def _final_manifest(self, files: list[StateFile], blocks: BlockWriter) -> Manifest:
        operators = []
        for operator in self._edits.operators.values():
            states = [
                msgspec.structs.replace(
                    s, entries=blocks.entries[operator.uid, s.name], size=blocks.sizes[operator.uid, s.name]
                )
                for s in operator.states
            ]
            operators.append(msgspec.structs.replace(operator, states=states))
        base = self._manifest
        return msgspec.structs.replace(
            base,
            id=uuid.uuid4().hex,
            created=int(time.time() * 1000),
            operators=operators,
            files=files,
            sink_files=[file for part in self._parts for file in part.manifest.sink_files],
            notes={**base.notes, "made by": "SavepointWriter", "made from": ", ".join(p.path for p in self._parts)},
        )


def _empty_manifest(max_parallelism: int) -> Manifest:
    return Manifest(
        format=FORMAT,
        id="",
        created=0,
        penstock=penstock.__version__,
        spark="",
        job_id="",
        job_name="",
        batch=-1,
        parallelism=1,
        max_parallelism=max_parallelism,
        operators=[],
        sources=[],
        sinks=[],
        levels=[],
        files=[],
    )


def _common_uids(existing: Iterable[Any], added: Iterable[Any]) -> list[str]:
    uids = {part.uid for part in existing}
    return [part.uid for part in added if part.uid in uids]


def _uid(identifier: Uid) -> str:
    return identifier.uid if isinstance(identifier, OperatorIdentifier) else identifier


def _type(declared: Declared) -> TypeInformation | None:
    return None if declared is None else type_information(declared)


def _clash(uids: list[str]) -> StateError:
    return StateError(
        "UID_CLASH",
        f"Both savepoints have {', '.join(map(repr, uids))}, and uids must be unique in a job. "
        "Use change_operator_identifier() or remove_operator() on one of them first.",
    )
