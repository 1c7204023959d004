"""Tests of pipelines in this process: the same operators as on Spark, no JVM."""

from penstock.connectors.scripted import At, Mark, ScriptedSource, Step
from penstock.testing.collected import Collected
from penstock.testing.harness import Harness
from penstock.testing.local import LocalJob
from penstock.testing.push import PushSource
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
