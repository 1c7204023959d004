"""Reads savepoints and checkpoints as tables, and writes savepoints from tables (Flink's State Processor API)."""

from penstock.savepoints import SavedOperator, SavedState
from penstock.state_processor.bootstrap import (
    BootstrapTransformation,
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    OperatorTransformation,
)
from penstock.state_processor.keyed_reading import KeyedStateReaderFunction
from penstock.state_processor.reader import SavepointReader
from penstock.state_processor.writer import OperatorIdentifier, SavepointWriter

__all__ = [
    "BootstrapTransformation",
    "BroadcastStateBootstrapFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "OperatorIdentifier",
    "OperatorTransformation",
    "SavedOperator",
    "SavedState",
    "SavepointReader",
    "SavepointWriter",
]
