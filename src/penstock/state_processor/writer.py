"""Writes savepoints: new ones, changed ones, and two joined into one."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from typing import Any

import msgspec

import penstock
from penstock.connectors.file.system import Options, absolute, file_system
from penstock.engine.entry_groups import regrouped
from penstock.errors import StateError
from penstock.runtime.keys import encode_key
from penstock.savepoints import (
    Manifest,
    SavedOperator,
    SavedState,
    Savepoint,
    StateFile,
    StateFileReader,
    StateFileWriter,
    publish,
)
from penstock.savepoints.manifest import FORMAT, NAME
from penstock.state import MapStateDescriptor, StateDescriptor
from penstock.state_processor.additions import Addition
from penstock.state_processor.blocks import StateBlocks
from penstock.state_processor.bootstrap import BootstrapTransformation
from penstock.state_processor.entries import TIMER_TABLES, place_of, scope_of
from penstock.state_processor.given import Columns, RowForm, Rows
from penstock.state_processor.held import held_at
from penstock.types import TypeInformation, type_information

Declared = TypeInformation | type | None


class OperatorIdentifier:
    """Names an operator of a savepoint, as Flink's does."""

    def __init__(self, uid: str) -> None:
        self.uid = uid

    @staticmethod
    def for_uid(uid: str) -> OperatorIdentifier:
        """The operator with this uid."""
        return OperatorIdentifier(uid)


Uid = str | OperatorIdentifier


class SavepointWriter:
    """Collects changes; `write` makes a savepoint of them. What it was made from stays as it is.

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
        self._operators = {o.uid: _copy(o) for o in manifest.operators}
        self._origin: dict[tuple[int, str], str] = {(0, uid): uid for uid in self._operators}  # to its uid here
        self._dropped: set[tuple[str, str]] = set()
        self._keys_gone: dict[str, set[bytes]] = {}
        self._replaced: dict[tuple[str, str], set[bytes]] = {}
        self._additions: list[Addition] = []

    @staticmethod
    def new_savepoint(max_parallelism: int = 128) -> SavepointWriter:
        """An empty one, for a job that does not exist yet; its max_parallelism must be the job's, or restoring regroups."""
        manifest = _new_manifest(max_parallelism)
        return SavepointWriter([], manifest)

    @staticmethod
    def from_existing_savepoint(
        path: str, storage_options: Options | None = None, *, scratch: str | None = None
    ) -> SavepointWriter:
        """All that another savepoint or a checkpoint holds, to be changed; `scratch` as for SavepointReader.read."""
        base = held_at(path, storage_options, scratch)
        return SavepointWriter([base], base.manifest)

    # -- what is changed

    def with_operator(self, identifier: Uid, transformation: BootstrapTransformation) -> SavepointWriter:
        """Gives an operator the state that a bootstrap function makes of rows; what it had of other keys stays."""
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
        """Gives an operator entries of a state: rows with `key` and `value`, of a map `map_key` too; in the order of a list.

        A key that is given anew loses what it had in this state; other keys keep theirs. Rows are an Arrow table, a pandas
        or Spark frame, or dicts; several columns may make a key (a tuple) or a value (by their names).
        """
        map_key = descriptor.key_type if isinstance(descriptor, MapStateDescriptor) else None
        form = RowForm(key, value, _type(key_type), descriptor.value_type, map_key)

        def fill(image: Any, data: Rows) -> None:
            image.put(descriptor, form.shaped(data, with_key=not broadcast), broadcast=broadcast)

        return self._add(Addition(_uid(identifier), rows, fill, [] if broadcast else form.key_columns))

    def with_timers(
        self, identifier: Uid, rows: Rows, *, key: Columns = "key", key_type: Declared = None
    ) -> SavepointWriter:
        """Gives an operator timers: rows with `key`, `time` (milliseconds), and `kind`, "event" or "processing".

        A key that is given anew loses the timers that it had.
        """
        form = RowForm(key, None, _type(key_type), None)

        def fill(image: Any, data: Rows) -> None:
            image.put_timers(form.shaped(data))

        return self._add(Addition(_uid(identifier), rows, fill, form.key_columns, tuple(TIMER_TABLES)))

    def remove_operator(self, identifier: Uid) -> SavepointWriter:
        """Leaves an operator out, with all that it keeps."""
        uid = self._known(_uid(identifier)).uid
        del self._operators[uid]
        return self

    def remove_state(self, identifier: Uid, state: str) -> SavepointWriter:
        """Leaves a state of an operator out."""
        operator = self._known(_uid(identifier))
        gone = [s for s in operator.states if state in (s.name, scope_of(s.name)[1])]
        if not gone:
            names = ", ".join(repr(s.name) for s in operator.states) or "none"
            raise StateError("NO_SUCH_STATE", f"Operator '{operator.uid}' has no state '{state}'. It has: {names}.")
        for saved in gone:
            operator.states.remove(saved)
            self._dropped.add((operator.uid, saved.name))
        return self

    def remove_keys(self, identifier: Uid, keys: Iterable[Any]) -> SavepointWriter:
        """Leaves out all that some keys have in an operator: state, windows, timers."""
        operator = self._known(_uid(identifier))
        self._keys_gone.setdefault(operator.uid, set()).update(encode_key(k)[0] for k in keys)
        return self

    def change_operator_identifier(self, before: Uid, after: Uid) -> SavepointWriter:
        """Gives an operator another uid, for a job that calls it so."""
        old, new = _uid(before), _uid(after)
        operator = self._known(old)
        if new in self._operators:
            raise _clash([new])
        del self._operators[old]
        operator.uid = new
        self._operators[new] = operator
        self._origin = {place: new if uid == old else uid for place, uid in self._origin.items()}
        self._dropped = {(new if uid == old else uid, state) for uid, state in self._dropped}
        if old in self._keys_gone:
            self._keys_gone[new] = self._keys_gone.pop(old)
        for addition in self._additions:
            if addition.uid == old:
                addition.uid = new
        return self

    def join(self, path: str, storage_options: Options | None = None) -> SavepointWriter:
        """Adds all operators, sources and sinks of another savepoint. Uids that both have are refused."""
        other = held_at(path, storage_options)
        theirs = other.manifest
        ours = self._manifest
        clashes = [o.uid for o in theirs.operators if o.uid in self._operators]
        for mine, others in ((ours.sources, theirs.sources), (ours.sinks, theirs.sinks)):
            known = {part.uid for part in mine}
            clashes += [part.uid for part in others if part.uid in known]
        if clashes:
            raise _clash(clashes)
        number = len(self._parts)
        self._parts.append(other)
        for operator in theirs.operators:
            self._operators[operator.uid] = _copy(operator)
            self._origin[number, operator.uid] = operator.uid
        deepest = max((level.level for level in ours.levels), default=0)
        moved = [msgspec.structs.replace(level, level=deepest + level.level) for level in theirs.levels]
        self._manifest = msgspec.structs.replace(
            ours,
            sources=[*ours.sources, *theirs.sources],
            sinks=[*ours.sinks, *theirs.sinks],
            levels=[*ours.levels, *moved],
        )
        return self

    def _add(self, addition: Addition) -> SavepointWriter:
        if addition.uid not in self._operators:
            self._operators[addition.uid] = SavedOperator(addition.uid, addition.uid, "", True, 1)
        self._additions.append(addition)
        return self

    def _known(self, uid: str) -> SavedOperator:
        if uid not in self._operators:
            raise StateError(
                "NO_SUCH_OPERATOR",
                f"The savepoint has no operator '{uid}'. It has: {', '.join(map(repr, self._operators)) or 'none'}.",
            )
        return self._operators[uid]

    # -- writing

    def write(self, path: str, storage_options: Options | None = None) -> Savepoint:
        """Writes the savepoint to a path that holds none. It is there when this returns, and before as good as not."""
        path = absolute(path).rstrip("/")
        system = file_system(path, storage_options)
        if system.find(f"{path}/{NAME}") is not None:
            raise StateError(
                "SAVEPOINT_EXISTS", f"{path} already holds a savepoint. Choose another path, or delete it."
            )
        counts = StateBlocks(self._manifest.max_parallelism)
        files: list[StateFile] = []
        try:
            for number, addition in enumerate(self._additions):
                made = addition.write(path, storage_options, f"new-{number}", self._manifest.max_parallelism)
                files += made.files
                self._take(addition, made.states, made.keys, counts)
            for number, part in enumerate(self._parts):
                for at, file in enumerate(part.manifest.files):
                    name = f"part-{number}-{at}"
                    files.append(self._carry(part, number, file, StateFileWriter(system, path, name), counts))
        except BaseException:
            system.remove_folder(path)
            raise
        return publish(path, self._final(files, counts, path), storage_options)

    def _take(
        self, addition: Addition, states: list[SavedState], keys: dict[str, set[bytes]], counts: StateBlocks
    ) -> None:
        """Notes what an addition brings, and which older entries it takes the place of."""
        operator = self._operators[addition.uid]
        known = {s.name: s for s in operator.states}
        for state in states:
            before = known.get(state.name)
            if before is not None and (before.kind, before.schema) != (state.kind, state.schema):
                raise StateError(
                    "STATE_DIFFERS",
                    f"State '{state.name}' of operator '{addition.uid}' is {before.kind} state of {before.schema} in the "
                    f"savepoint, and {state.kind} state of {state.schema} was given. Give values of that type, or "
                    "remove_state() it first.",
                )
            if before is None:
                kept = msgspec.structs.replace(state, entries=0, size=0)
                operator.states.append(kept)
            counts.count(addition.uid, state.name, state.entries, state.size)
        for name in {*keys, *addition.replaces}:
            gone = set().union(*keys.values()) if name in addition.replaces else keys[name]
            self._replaced.setdefault((addition.uid, name), set()).update(gone)

    def _carry(
        self, part: Savepoint, number: int, file: StateFile, writer: StateFileWriter, counts: StateBlocks
    ) -> StateFile:
        """Copies a file of an older savepoint, without what was taken out of it."""
        regroup = part.manifest.max_parallelism != self._manifest.max_parallelism
        with StateFileReader(part.system, part.path, file) as reader:
            for block in reader.blocks:
                uid = self._origin.get((number, block.operator))
                if uid is None or uid not in self._operators or (uid, block.state) in self._dropped:
                    continue
                saved = next((s for s in self._operators[uid].states if s.name == block.state), None)
                if saved is None:
                    continue
                flat = self._kept(uid, saved, reader.read(block))
                if regroup:
                    flat = _regrouped(saved.kind, flat, self._manifest.max_parallelism)
                if flat:
                    counts.write(writer, uid, saved, flat)
        return writer.close()

    def _kept(self, uid: str, saved: SavedState, flat: list[bytes]) -> list[bytes]:
        gone = self._keys_gone.get(uid, set())
        replaced = self._replaced.get((uid, saved.name), set())
        if not gone and not replaced:
            return flat
        scope, _ = scope_of(saved.name)
        kept: list[bytes] = []
        for stored, value in zip(flat[::2], flat[1::2], strict=True):
            key = place_of(saved.kind, scope, stored).key
            if key not in gone and key not in replaced:
                kept += (stored, value)
        return kept

    def _final(self, files: list[StateFile], counts: StateBlocks, path: str) -> Manifest:
        operators = []
        for operator in self._operators.values():
            states = [
                msgspec.structs.replace(
                    s, entries=counts.entries[operator.uid, s.name], size=counts.sizes[operator.uid, s.name]
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
            notes={**base.notes, "made by": "SavepointWriter", "made from": ", ".join(p.path for p in self._parts)},
        )


def _regrouped(kind: str, flat: list[bytes], max_parallelism: int) -> list[bytes]:
    pairs = sorted((regrouped(kind, s, max_parallelism), v) for s, v in zip(flat[::2], flat[1::2], strict=True))
    return [part for pair in pairs for part in pair]


def _new_manifest(max_parallelism: int) -> Manifest:
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


def _copy(operator: SavedOperator) -> SavedOperator:
    return msgspec.structs.replace(operator, states=list(operator.states))


def _uid(identifier: Uid) -> str:
    return identifier.uid if isinstance(identifier, OperatorIdentifier) else identifier


def _type(declared: Declared) -> TypeInformation | None:
    return None if declared is None else type_information(declared)


def _clash(uids: list[str]) -> StateError:
    return StateError(
        "UID_CLASH",
        f"Both savepoints have {', '.join(map(repr, uids))}; a job could not tell them apart. "
        "Use change_operator_identifier() or remove_operator() on one of them first.",
    )
