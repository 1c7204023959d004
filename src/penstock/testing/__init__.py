"""Tests pipelines and connectors in this process, with the same operators as on Spark and without a JVM."""

from penstock.connectors.scripted import At, Mark, ScriptedSource, Step
from penstock.testing.collected import Collected
from penstock.testing.harness import Harness
from penstock.testing.local_engine import LocalJob
from penstock.testing.pushed_source import PushSource
from penstock.testing.sink_contract import SinkContract
from penstock.testing.source_contract import SourceContract

__all__ = [
    "At",
    "Collected",
    "Harness",
    "LocalJob",
    "Mark",
    "PushSource",
    "ScriptedSource",
    "SinkContract",
    "SourceContract",
    "Step",
]
