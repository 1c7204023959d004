"""An engine that runs nothing. It prints each job as one line of JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from penstock.config import Configuration
from penstock.errors import JobError
from penstock.plan.graph import JobGraph

NAME = f"{__name__}:FakeEngine"


class FakeEngine:
    """Prints the job, or raises an error if its name is "fails"."""

    def default_parallelism(self, configuration: Configuration) -> int:
        return 2

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> None:
        if graph.name == "fails":
            raise JobError(
                "JOB_FAILED", "The job failed in Spark: no luck.\n\tat org.apache.spark.Deep.down(Deep.scala:7)"
            )
        options = {
            k: v for k, v in configuration.to_dict().items() if k != "execution.engine" and k not in configuration.spark
        }
        print(json.dumps({"job": graph.name, "argv": sys.argv, "options": options, "spark": configuration.spark}))

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        return iter(())
