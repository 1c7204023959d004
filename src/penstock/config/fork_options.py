"""Options that `penstock fork` and `penstock replay` set for the runs that they start."""

from __future__ import annotations

from penstock.config.kinds import FOLDER, TEXT
from penstock.config.registry import define

FORK_PLAN = define(
    "execution.fork.plan",
    FOLDER,
    "",
    "Set by 'penstock fork' and 'replay': the file that says what their runs read and write.",
)
FORK_RUN = define(
    "execution.fork.run", TEXT, "run", "Set by 'penstock fork' and 'replay': the name of one of their runs."
)
