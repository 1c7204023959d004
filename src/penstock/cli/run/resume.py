"""`penstock resume`: continues a job with the program, arguments and options of its last run."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.arguments import Master, Settings
from penstock.cli.run.program_arguments import program_arguments
from penstock.cli.run.run import ProgramRun
from penstock.cli.run.settings import run_options
from penstock.config import Configuration
from penstock.config.deployment_options import CONSOLE
from penstock.jobs.actions.resume import plan_resume
from penstock.jobs.registry.registry import registry_of


def resume(
    context: typer.Context,
    job: Annotated[
        str,
        typer.Argument(
            metavar="JOB", help="The id of the job, the beginning of the id, the name, or its checkpoint folder."
        ),
    ],
    master: Master = None,
    settings: Settings = None,
    detached: Annotated[
        bool | None,
        typer.Option(
            "--detached/--attached", "-d", help="Run in the background or here. Default: as before.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Report on the job in JSON lines on stderr.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show Spark's own output, and errors with their stack traces.")
    ] = False,
) -> None:
    """Resume a job that was stopped, failed or was killed, from its last checkpoint.

    The program, its arguments, options, master, name and mode are those of the last run of the job. Options given here are added to
    them. Arguments after '--' replace those of the program. A name means its newest job.
    """
    command = ProgramRun(as_json, verbose)
    with command.report_errors():
        options = run_options(settings or [], master=master, verbose=verbose)
        registry = registry_of(Configuration(options))
        plan = plan_resume(registry, job, options=options, args=program_arguments(context), detached=detached)
        if Configuration(plan.launch.options).get(CONSOLE):
            command.verbose = True
        command.start(plan.launch)
