"""`penstock limit`: changes how many records a running job reads into a batch."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.arguments import Job
from penstock.cli.render.error_exit import error_exit
from penstock.jobs.actions.limit import limit_records
from penstock.jobs.registry.registry import registry_of


def limit(
    job: Job,
    records: Annotated[
        int, typer.Argument(metavar="RECORDS", min=1, help="The maximum number of records per source in a batch.")
    ],
) -> None:
    """Limit how many records of each source a running job reads into a batch. A new run uses its own option again."""
    registry = registry_of()
    with error_exit():
        result = limit_records(registry, registry.find_running(job, "limit"), records)
    print(f"{result.job_id} at most {result.records} records per source in a batch")
