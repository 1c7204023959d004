"""Replaces pyflink/datastream/tests/test_util.py: the collecting sink of PyFlink's tests, as a sink of Penstock."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import uuid
from typing import Any

import cloudpickle
import numpy as np

from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.runtime.loop.records import TAG_NAMES
from penstock.time import TimestampAssigner
from tests.pyflink_suite.shim.java_text import java_text

FOLDER = os.environ.get("PYFLINK_SUITE_SINKS") or tempfile.mkdtemp(prefix="pyflink-tests-")


class DataStreamTestSinkFunction(Sink):
    """Collects what reaches it, batch after batch, in files of a folder; what is read is gone, as in Flink's."""

    wants_tags = True

    def __init__(self) -> None:
        self.folder = os.path.join(FOLDER, uuid.uuid4().hex)
        self.kind: Any = None
        os.makedirs(self.folder)

    def of_type(self, kind: Any) -> DataStreamTestSinkFunction:
        made = DataStreamTestSinkFunction.__new__(DataStreamTestSinkFunction)
        made.folder, made.kind = self.folder, kind
        return made

    def writer(self, task: WriteTask) -> SinkWriter:
        return _Writer(task)

    def commit(self, batch: int, prepared: list[Any]) -> None:
        if not prepared:
            return
        elements = [e for _, part in prepared for e in part]
        elements.sort(key=lambda e: e[0])
        found = [(value, self.text(value)) for _, value in elements]
        file = os.path.join(self.folder, f"{prepared[0][0]}-{batch:09d}")
        try:
            data = pickle.dumps(found, 5)
        except Exception:
            data = cloudpickle.dumps(found)
        with open(file + ".new", "wb") as out:
            out.write(data)
        os.replace(file + ".new", file)

    def text(self, value: Any) -> str:
        """What Java's sink sees of it: an object of the declared type, or the bytes of a pickled one."""
        if self.kind is None or type(self.kind).__name__ == "PickledBytesTypeInfo":
            return f"[B@pickled({value!r})"
        return java_text(self.kind, value)

    # -- as PyFlink's has them

    def get_results(self, is_python_object: bool = False, stringify: bool = True) -> list[Any]:
        found: list[tuple[Any, str]] = []
        for name in sorted(os.listdir(self.folder)):
            with open(os.path.join(self.folder, name), "rb") as file:
                found += pickle.load(file)
        self.clear()
        if not is_python_object:
            return [text for _, text in found]
        return [str(value) if stringify else value for value, _ in found]

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, exist_ok=True)


class _Writer(SinkWriter):
    def __init__(self, task: WriteTask) -> None:
        self._task = task
        self._kept: list[tuple[tuple[int, ...], Any]] = []

    def write(self, values: list[Any], timestamps: Any, tags: Any) -> None:
        if tags is None:
            self._kept += [((), v) for v in values]
            return
        rows = np.stack([getattr(tags, name) for name in TAG_NAMES], axis=1).tolist()
        self._kept += [(tuple(row), value) for row, value in zip(rows, values, strict=True)]

    def prepare(self) -> Any:
        return (self._task.lineage or "run", self._kept) if self._kept else None


class SecondColumnTimestampAssigner(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])
