"""Savepoints: what a job was, at a batch, in a format of its own. Needs neither Spark nor a running job."""

from penstock.savepoints.manifest import Manifest, SavedOperator, SavedSink, SavedSource, SavedState, StateFile
from penstock.savepoints.savepoint import Savepoint, open_savepoint, publish
from penstock.savepoints.state_file import Block, StateFileReader, StateFileWriter

__all__ = [
    "Block",
    "Manifest",
    "SavedOperator",
    "SavedSink",
    "SavedSource",
    "SavedState",
    "Savepoint",
    "StateFile",
    "StateFileReader",
    "StateFileWriter",
    "open_savepoint",
    "publish",
]
