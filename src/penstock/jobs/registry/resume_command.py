"""The command line that resumes a job, as it is printed after a failure."""

from __future__ import annotations

import shlex

from penstock.config.deployment_options import REGISTRY_DIR
from penstock.config.execution_options import FORK_PLAN
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.launch import Launch

_ID_LENGTH = 12


def resume_command(entry: JobEntry) -> str:
    """The command line that resumes a job; empty if the job has no checkpoint or was not started from a file.

    A secret of the original command line that is not in the environment is shown as ***.
    """
    launch = entry.launch
    if entry.batch or not entry.checkpoint or launch is None or FORK_PLAN.key in launch.options:
        return ""
    in_other_registry = REGISTRY_DIR.key in launch.options  # `penstock resume ID` would not look there
    return secret_command(entry.checkpoint if in_other_registry else entry.id[:_ID_LENGTH], launch)


def secret_command(job: str, launch: Launch) -> str:
    """The command that resumes a job and sets the secrets that are missing.

    >>> from penstock.jobs.registry.launch import without_secrets
    >>> secret_command("4d1f", without_secrets(Launch("job.py", ["a"], "", {"spark.ssl.keyPassword": "sesame"})))
    "penstock resume 4d1f -D 'spark.ssl.keyPassword=***'"
    """
    missing = launch.missing_secrets()
    options = [part for s in missing if s.argument is None for part in ("-D", f"{s.name}={launch.options[s.name]}")]
    args = ["--", *launch.args] if any(s.argument is not None for s in missing) else []
    return shlex.join(["penstock", "resume", job, *options, *args])
