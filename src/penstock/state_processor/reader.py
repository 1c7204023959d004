"""Reads the operators, states and timers of a savepoint or a checkpoint as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.connectors.file.system.file_system import Options
from penstock.errors import StateError
from penstock.runtime.state.tables import KEY_TABLE
from penstock.savepoints import Manifest, SavedOperator, SavedState, Savepoint
from penstock.state_processor.arrow_values import text_column
from penstock.state_processor.entries import TIMER_TABLES, split_scope
from penstock.state_processor.frames import StateFrame
from penstock.state_processor.keyed_reading import OUT, KeyedStateReaderFunction, read_keys
from penstock.state_processor.open_savepoint import open_savepoint_or_checkpoint
from penstock.state_processor.requests import StateRequest, read_batches, read_python_rows
from penstock.types import TypeInformation, type_information

if TYPE_CHECKING:
    import pandas as pd

Declared = TypeInformation | type | None


class SavepointReader:
    """Reads a savepoint or a checkpoint. The program of the job is not needed. Spark is needed only for a checkpoint.

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
        """Opens the savepoint at a path, or a checkpoint folder as of its last committed batch, even while its job runs.

        Spark converts a checkpoint to a savepoint in the folder `scratch`, which all its workers must be able to access and
        where the savepoint stays. Without `scratch` it is written to a temporary folder of this machine, which is removed when
        the process ends.
        """
        return SavepointReader(open_savepoint_or_checkpoint(path, storage_options, scratch), storage_options)

    @property
    def path(self) -> str:
        """The path of the savepoint."""
        return self._savepoint.path

    @property
    def manifest(self) -> Manifest:
        """The manifest of the savepoint."""
        return self._savepoint.manifest

    @property
    def savepoint(self) -> Savepoint:
        """The savepoint with its files and blocks."""
        return self._savepoint

    # -- contents

    def operators(self) -> list[SavedOperator]:
        """Returns all operators with their states."""
        return list(self.manifest.operators)

    def operator(self, uid: str) -> SavedOperator:
        """Returns the operator with a uid, or with a name that is unique."""
        operators = self.manifest.operators
        matches = [o for o in operators if o.uid == uid] or [o for o in operators if o.name == uid]
        if len(matches) == 1:
            return matches[0]
        raise StateError(
            "NO_SUCH_OPERATOR",
            f"The savepoint {self.path} has {'no operator' if not matches else 'several operators'} '{uid}'. "
            f"It has: {', '.join(repr(o.uid) for o in operators) or 'none'}.",
        )

    def states(self, operator: str) -> list[SavedState]:
        """Returns the states of an operator that functions requested, and those of windows and joins."""
        hidden = {KEY_TABLE, *TIMER_TABLES}
        return [s for s in self.operator(operator).states if s.name not in hidden]

    def state(self, operator: str, state: str) -> SavedState:
        """Returns a state by its name in the program or its stored name."""
        saved = self.operator(operator)
        named = [s for s in saved.states if s.name == state] or [
            s for s in saved.states if split_scope(s.name)[1] == state
        ]
        if len(named) == 1:
            return named[0]
        raise StateError(
            "NO_SUCH_STATE",
            f"Operator '{saved.uid}' has {'no state' if not named else 'several states'} '{state}' in the savepoint {self.path}. "
            f"It has: {', '.join(repr(s.name) for s in self.states(operator)) or 'none'}.",
        )

    # -- tables

    def table(self, operator: str, state: str, *, value_type: Declared = None) -> pa.Table:
        """Returns the entries of a state as an Arrow table, one row per entry.

        Columns are `key` and `value`; depending on the kind of state also `map_key`, `position`, `time`, `window_start` and
        `window_end`; and `written` and `expires` for a state with a time to live.

        The type of `value` is the declared type in the savepoint, or `value_type`. Without either, values are unpickled and Arrow
        infers the type. Values that Arrow has no type for stay pickles, which `pickle.loads` reads. `rows` returns them as Python
        values.
        """
        return _concat(self.batches(operator, state, value_type=value_type))

    def rows(self, operator: str, state: str, *, value_type: Declared = None) -> Iterator[dict[str, Any]]:
        """Iterates over the entries of a state with the columns of `table`, and Python objects as keys and values.

        Values without a declared type, such as the contents of many windows (state `__contents__`), are unpickled, so their
        classes must be importable. Objects of a declared class are dicts of their fields.

        >>> import tempfile
        >>> from penstock.state import ValueStateDescriptor
        >>> from penstock.state_processor import SavepointWriter
        >>> path = tempfile.mkdtemp() + "/any"
        >>> entries = [{"key": "a", "value": (1, {"b": 2.5})}]
        >>> _ = SavepointWriter.new_savepoint(8).with_state("op", ValueStateDescriptor("any"), entries).write(path)
        >>> list(SavepointReader.read(path).rows("op", "any"))
        [{'key': 'a', 'value': (1, {'b': 2.5})}]
        """
        return read_python_rows(self._savepoint, self.request(operator, state, value_type))

    def pandas(self, operator: str, state: str, *, value_type: Declared = None) -> pd.DataFrame:
        """Returns the entries of a state as a pandas DataFrame. See `table`."""
        return self.table(operator, state, value_type=value_type).to_pandas()

    def dataframe(self, spark: Any, operator: str, state: str, *, value_type: Declared = None) -> Any:
        """Returns the entries of a state as a Spark DataFrame. Its tasks read the files, without collecting rows on the driver.

        The schema is that of the first rows. See `table` for the columns.
        """
        from penstock.spark.savepoint.state_frame import read_in_tasks  # imported here: it needs PySpark

        frame = StateFrame(self._savepoint, self._options, self.request(operator, state, value_type))
        return read_in_tasks(spark, frame.tasks, frame.task_reader(), frame.schema)

    def batches(self, operator: str, state: str, *, value_type: Declared = None) -> Iterator[pa.RecordBatch]:
        """Iterates over the entries of a state, with one block in memory at a time. See `table` for the columns."""
        return read_batches(self._savepoint, self.manifest.files, self.request(operator, state, value_type))

    def timers(self, operator: str) -> pa.Table:
        """Returns the timers of an operator: `key`, `time`, `kind` ("event" or "processing"), and the window, if any."""
        states = {s.name: s for s in self.operator(operator).states}
        return _concat(
            batch
            for name in TIMER_TABLES
            if name in states
            for batch in read_batches(self._savepoint, self.manifest.files, self.request(operator, name))
        )

    def windows(self, operator: str) -> pa.Table:
        """Returns the states of the open windows of an operator as one table, with the column `state` for the state name."""
        batches = []
        for saved in self.states(operator):
            if split_scope(saved.name)[0] == "namespace" or saved.kind == "times":
                for batch in self.batches(operator, saved.name):
                    names = pa.array([split_scope(saved.name)[1]] * len(batch), pa.string())
                    batches.append(batch.append_column("state", names))
        return _concat(batches)

    def read_keyed_state(self, operator: str, function: KeyedStateReaderFunction[Any, OUT]) -> Iterator[OUT]:
        """Iterates over the results of a function that is called for each key of an operator with its states and timers."""
        return read_keys(self._savepoint, self.operator(operator), function)

    def request(self, operator: str, state: str, value_type: Declared = None) -> StateRequest:
        """Returns a picklable description of a state to read."""
        saved = self.state(operator, state)
        kind = None if value_type is None else type_information(value_type)
        return StateRequest(self.operator(operator).uid, saved, kind)


def _concat(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Concatenates batches whose columns may differ. Missing columns are filled with nulls."""
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    if not tables:
        return pa.table({"key": pa.array([], pa.null())})
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.concat_tables(_unify_types(tables), promote_options="permissive")


def _unify_types(tables: list[pa.Table]) -> list[pa.Table]:
    """Converts columns that have several types to text."""
    kinds: dict[str, set[Any]] = {}
    for table in tables:
        for field in table.schema:
            kinds.setdefault(field.name, set()).add(field.type)
    mixed = {name for name, types in kinds.items() if len(types) > 1}
    for name in mixed:
        tables = [
            t.set_column(t.schema.get_field_index(name), name, text_column(t.column(name).to_pylist()))
            if name in t.column_names and t.schema.field(name).type != pa.string()
            else t
            for t in tables
        ]
    return tables
