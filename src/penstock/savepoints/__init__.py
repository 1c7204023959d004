"""Savepoints: the state of a job after a batch, in a documented format. Needs neither Spark nor a running job."""

from penstock.savepoints.manifest import Manifest, SavedOperator, SavedSink, SavedSource, SavedState, StateFile
from penstock.savepoints.savepoint import Savepoint, open_savepoint, publish
from penstock.savepoints.state_file import StateBlock, StateFileReader, StateFileWriter

__all__ = [
    "Manifest",
    "SavedOperator",
    "SavedSink",
    "SavedSource",
    "SavedState",
    "Savepoint",
    "StateBlock",
    "StateFile",
    "StateFileReader",
    "StateFileWriter",
    "open_savepoint",
    "publish",
]
