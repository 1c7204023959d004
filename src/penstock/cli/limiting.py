"""`penstock limit`: changes how much a running job takes at a time."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.failure import told
from penstock.cli.info import Job
from penstock.jobs import requests
from penstock.jobs.registry import registry_of


def limit(
    job: Job,
    records: Annotated[int, typer.Argument(metavar="RECORDS", min=1, help="Most records of each source in a batch.")],
) -> None:
    """Change how many records of each source a running job takes into a batch; a new run starts with its own option again."""
    registry = registry_of()
    with told():
        entry = registry.find(job)
        requests.ask_limit(registry, entry, records)
    print(f"{entry.id} at most {records} records of a source in a batch")
