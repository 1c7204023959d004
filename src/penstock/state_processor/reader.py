"""Reads a savepoint or a checkpoint: its operators, their state and timers, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.connectors.file.system import Options
from penstock.errors import StateError
from penstock.runtime.state.backend import KEY_TABLE
from penstock.savepoints import Manifest, SavedOperator, SavedState, Savepoint
from penstock.state_processor.entries import TIMER_TABLES, scope_of
from penstock.state_processor.frames import StateFrame
from penstock.state_processor.held import held_at
from penstock.state_processor.keyed_reading import OUT, KeyedStateReaderFunction, read_keys
from penstock.state_processor.natural import texts
from penstock.state_processor.requests import Request, batches_of
from penstock.types import TypeInformation, type_information

if TYPE_CHECKING:
    import pandas as pd

Declared = TypeInformation | type | None


class SavepointReader:
    """What a savepoint or a checkpoint holds. The job's program is not needed, and Spark only for a checkpoint.

    >>> import tempfile
    >>> from penstock.state import ValueStateDescriptor
    >>> from penstock.state_processor import SavepointWriter
    >>> path = tempfile.mkdtemp() + "/totals"
    >>> writer = SavepointWriter.new_savepoint(max_parallelism=8)
    >>> rows = [{"key": "a", "value": 3}, {"key": "b", "value": 5}]
    >>> _ = writer.with_state("totals", ValueStateDescriptor("total", int), rows).write(path)
    >>> sorted(SavepointReader.read(path).table("totals", "total").to_pylist(), key=lambda row: row["key"])
    [{'key': 'a', 'value': 3}, {'key': 'b', 'value': 5}]
    """

    def __init__(self, savepoint: Savepoint, storage_options: Options | None = None) -> None:
        self._savepoint = savepoint
        self._options = storage_options

    @staticmethod
    def read(path: str, storage_options: Options | None = None, *, scratch: str | None = None) -> SavepointReader:
        """The savepoint at a path; or the checkpoint in a folder, as of its last committed batch, also while its job runs.

        Spark reads a checkpoint and makes a savepoint of it in `scratch`, a folder that all of its workers reach and where it
        stays. Without one it is made in a temporary folder of this machine, which goes with the process.
        """
        return SavepointReader(held_at(path, storage_options, scratch), storage_options)

    @property
    def path(self) -> str:
        """Where it is."""
        return self._savepoint.path

    @property
    def manifest(self) -> Manifest:
        """All that it says of itself."""
        return self._savepoint.manifest

    @property
    def savepoint(self) -> Savepoint:
        """The savepoint itself: its files and blocks."""
        return self._savepoint

    # -- what there is

    def operators(self) -> list[SavedOperator]:
        """The operators with their states."""
        return list(self.manifest.operators)

    def operator(self, uid: str) -> SavedOperator:
        """The operator with a uid, or else with a name that no other has."""
        known = self.manifest.operators
        found = [o for o in known if o.uid == uid] or [o for o in known if o.name == uid]
        if len(found) == 1:
            return found[0]
        raise StateError(
            "NO_SUCH_OPERATOR",
            f"The savepoint {self.path} has {'no operator' if not found else 'several operators'} '{uid}'. "
            f"It has: {', '.join(repr(o.uid) for o in known) or 'none'}.",
        )

    def states(self, operator: str) -> list[SavedState]:
        """The states of an operator that its functions asked for, and those that windows and joins keep."""
        hidden = {KEY_TABLE, *TIMER_TABLES}
        return [s for s in self.operator(operator).states if s.name not in hidden]

    def state(self, operator: str, state: str) -> SavedState:
        """A state by its name: as the program gave it, or as it is stored."""
        found = self.operator(operator)
        named = [s for s in found.states if s.name == state] or [
            s for s in found.states if scope_of(s.name)[1] == state
        ]
        if len(named) == 1:
            return named[0]
        raise StateError(
            "NO_SUCH_STATE",
            f"Operator '{found.uid}' has {'no state' if not named else 'several states'} '{state}' in the savepoint {self.path}. "
            f"It has: {', '.join(repr(s.name) for s in self.states(operator)) or 'none'}.",
        )

    # -- tables

    def table(self, operator: str, state: str, *, value_type: Declared = None) -> pa.Table:
        """All entries of a state, one a row: `key` and `value`; `map_key`, `position`, `time`, `window_start` and `window_end`
        where there are such; `written` and `expires` where it has a time to live.

        Values have columns of the type that the savepoint declares for them, or of `value_type`. Without either they
        are unpickled, and Arrow finds the column; what it finds none for stays a pickle.
        """
        return _joined(self.batches(operator, state, value_type=value_type))

    def pandas(self, operator: str, state: str, *, value_type: Declared = None) -> pd.DataFrame:
        """The same as a pandas frame."""
        return self.table(operator, state, value_type=value_type).to_pandas()

    def dataframe(self, spark: Any, operator: str, state: str, *, value_type: Declared = None) -> Any:
        """The same as a DataFrame of a Spark session: tasks read the files, and nothing passes through the driver.

        Columns are those that the first rows have.
        """
        from penstock.spark.state_frame import frame_of  # Spark is there if somebody has a session of it

        frame = StateFrame(self._savepoint, self._options, self.request(operator, state, value_type))
        return frame_of(spark, frame.tasks, frame.reading(), frame.schema)

    def batches(self, operator: str, state: str, *, value_type: Declared = None) -> Iterator[pa.RecordBatch]:
        """The same block by block: no more than one of them is in memory."""
        return batches_of(self._savepoint, self.manifest.files, self.request(operator, state, value_type))

    def timers(self, operator: str) -> pa.Table:
        """The timers of an operator: `key`, `time`, `kind` ("event" or "processing"), and the window, if it has windows."""
        known = {s.name: s for s in self.operator(operator).states}
        return _joined(
            batch
            for name in TIMER_TABLES
            if name in known
            for batch in batches_of(self._savepoint, self.manifest.files, self.request(operator, name))
        )

    def windows(self, operator: str) -> pa.Table:
        """What the open windows of an operator hold: its states per window, as one table with a column `state`."""
        found = []
        for saved in self.states(operator):
            if scope_of(saved.name)[0] == "namespace" or saved.kind == "times":
                for batch in self.batches(operator, saved.name):
                    named = pa.array([scope_of(saved.name)[1]] * len(batch), pa.string())
                    found.append(batch.append_column("state", named))
        return _joined(found)

    def read_keyed_state(self, operator: str, function: KeyedStateReaderFunction[Any, OUT]) -> Iterator[OUT]:
        """What a function yields for every key of an operator: it has all states of the key, as in a job, and its timers."""
        return read_keys(self._savepoint, self.operator(operator), function)

    def request(self, operator: str, state: str, value_type: Declared = None) -> Request:
        """What is to be read, in a form that travels to other processes."""
        saved = self.state(operator, state)
        kind = None if value_type is None else type_information(value_type)
        return Request(self.operator(operator).uid, saved, kind)


def _joined(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """One table of batches whose columns may differ: what was found in one of them only is null in the others."""
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    if not tables:
        return pa.table({"key": pa.array([], pa.null())})
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.concat_tables(_alike(tables), promote_options="permissive")


def _alike(tables: list[pa.Table]) -> list[pa.Table]:
    """Columns of several kinds become text everywhere."""
    kinds: dict[str, set[Any]] = {}
    for table in tables:
        for field in table.schema:
            kinds.setdefault(field.name, set()).add(field.type)
    mixed = {name for name, found in kinds.items() if len(found) > 1}
    for name in mixed:
        tables = [
            t.set_column(t.schema.get_field_index(name), name, texts(t.column(name).to_pylist()))
            if name in t.column_names and t.schema.field(name).type != pa.string()
            else t
            for t in tables
        ]
    return tables
