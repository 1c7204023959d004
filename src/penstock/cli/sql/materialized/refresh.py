"""What the job of a materialized table runs."""

from __future__ import annotations

import os

from penstock.config.checkpoint_options import (
    ALLOW_DROPPED,
    CHECKPOINT_DIR,
    FROM_SAVEPOINT,
    LATEST,
    REBUILD,
    RESUME,
    SAVEPOINT_DIR,
)
from penstock.config.execution_options import BUFFER_TIMEOUT, BUFFER_TIMEOUT_ENABLED, JOB_NAME, RUNTIME_MODE
from penstock.table.catalog.definition import functions_of
from penstock.table.dialect.statements.statement import ObjectName
from penstock.table.environment.session import Session
from penstock.table.environment.statements.materialized import Found, find_materialized, refresh_sink


def refresh_table(session: Session, path: tuple[str, ...]) -> None:
    """Runs the query of a materialized table, as its catalog has it now, until the job ends.

    It continues from the savepoint of the definition if there is one that it has not started from before, else from its last batch.
    """
    with functions_of(session):
        found = find_materialized(session, ObjectName(path))
        options = job_settings(found)
        for key, value in options.items():  # they override those that the session has set
            session.config.set(key, value)
        session.streaming = True
        client = session.executor.insert([refresh_sink(session, found)], options[JOB_NAME.key])
        client.get_job_execution_result().result()


def job_settings(found: Found) -> dict[str, str]:
    """The options of the job that follow from the definition of the table."""
    refresh = found.refresh
    return {
        JOB_NAME.key: f"materialized-table-{'.'.join(found.path)}",
        RUNTIME_MODE.key: "STREAMING",
        RESUME.key: LATEST,
        CHECKPOINT_DIR.key: os.path.join(found.folder, "checkpoints"),
        SAVEPOINT_DIR.key: os.path.join(found.folder, "savepoints"),
        # Unread records wait as long, and a batch that is full does not wait, so that the job catches up at full speed.
        BUFFER_TIMEOUT.key: f"{refresh.freshness} ms",
        BUFFER_TIMEOUT_ENABLED.key: "true",
        # State that is dropped or rebuilt would leave rows of the old query in the result, or add rows twice.
        ALLOW_DROPPED.key: "false",
        REBUILD.key: "false",
        **({FROM_SAVEPOINT.key: refresh.savepoint} if refresh.savepoint else {}),
    }
