"""How the program of a job was started, so that an action can start it again: from its checkpoint or from a savepoint."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.config import environment_options
from penstock.config.checkpoint_options import ALLOW_DROPPED, FROM_SAVEPOINT, LATEST, PROGRAM_JOBS, REBUILD, RESUME
from penstock.config.registry import find
from penstock.pyflink import is_installed
from penstock.redaction import HIDDEN, is_secret, redact_command

_NOTEBOOKS = ("ipykernel_launcher.py", "colab_kernel_launcher.py")
DETACHED_VARIABLE = "PENSTOCK_DETACHED"  # set in the process of a job that runs in the background
_START_OPTIONS = (
    FROM_SAVEPOINT.key,
    ALLOW_DROPPED.key,
    REBUILD.key,
    RESUME.key,
    PROGRAM_JOBS.key,
)  # where a run starts; not a setting of the job


class HiddenSecret(msgspec.Struct, frozen=True):
    """A secret of a command line, which is not stored. `variable` is the environment variable that contained it, if any."""

    name: str  # key of the option, or the argument without the secret
    argument: int | None = None  # index of the argument; None: an option
    variable: str = ""


class Launch(msgspec.Struct, frozen=True):
    """A program with its arguments, options and working folder. Secrets are replaced by *** and listed in `secrets`."""

    script: str
    args: list[str]
    folder: str
    options: dict[str, Any] = {}
    pyflink: bool = False
    python: str = ""
    detached: bool = False
    secrets: list[HiddenSecret] = []
    job: int = 1  # which job of the program this one is
    first_job: str = ""  # id of the first job of the program; empty: not known

    def command(self, options: dict[str, Any], flags: list[str]) -> list[str]:
        """The command line that runs the program with `penstock run`. `options` override the stored options.

        >>> Launch("job.py", ["--fast"], "/jobs", {"a": 1}, python="python").command({"b": 2}, [])
        ['python', '-m', 'penstock', 'run', '-D', 'a=1', '-D', 'b=2', 'job.py', '--', '--fast']
        """
        settings = [
            part
            for key, value in {**self.options, **options}.items()
            for part in ("-D", f"{key}={_option_text(value)}")
        ]
        flags = [*flags, *(["--pyflink"] if self.pyflink else [])]
        return [
            self.python or sys.executable,
            "-m",
            "penstock",
            "run",
            *flags,
            *settings,
            self.script,
            "--",
            *self.args,
        ]

    def changed(self, options: Mapping[str, Any], args: list[str] | None = None) -> Launch:
        """The launch with other options, and other arguments if there are any. Secrets that are set again are no longer missing.

        >>> Launch("job.py", ["a"], "", {"state.checkpoints.dir": "/a"}).changed({"execution.checkpointing.dir": "/b"}).options
        {'execution.checkpointing.dir': '/b'}
        """
        replaced = {_main_key(key) for key in options}
        kept = {key: value for key, value in self.options.items() if _main_key(key) not in replaced}
        secrets = [
            secret
            for secret in self.secrets
            if (args is None if secret.argument is not None else _main_key(secret.name) not in replaced)
        ]
        return msgspec.structs.replace(
            self, options={**kept, **options}, args=self.args if args is None else args, secrets=secrets
        )

    def missing_secrets(self) -> list[HiddenSecret]:
        """The secrets that are neither stored nor in an environment variable of this process."""
        return [secret for secret in self.secrets if not os.environ.get(secret.variable)]

    def revealed(self) -> Launch:
        """The launch with the secrets that environment variables of this process contain."""
        args, options = list(self.args), dict(self.options)
        for secret in self.secrets:
            value = os.environ.get(secret.variable, HIDDEN)
            if secret.argument is None:
                options[secret.name] = value
            else:
                args[secret.argument] = args[secret.argument].removesuffix(HIDDEN) + value
        return msgspec.structs.replace(self, args=args, options=options)


def _option_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _main_key(key: str) -> str:
    """The key of an option for any of its names."""
    option = find(key)
    return key if option is None else option.key


def job_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without those that say where one run starts. A job that always resumes itself keeps this setting.

    >>> job_options({"execution.resume": "/checkpoints/1", "parallelism.default": 2})
    {'parallelism.default': 2}
    """
    return {
        key: value
        for key, value in options.items()
        if _main_key(key) not in _START_OPTIONS or (_main_key(key) == RESUME.key and value == LATEST)
    }


def current_launch(settings: Mapping[str, Any] | None = None, job: int = 1, first_job: str = "") -> Launch | None:
    """How this program was started; None in a shell or a notebook.

    `settings` are options of the job that the command line does not contain, such as its checkpoint folder. `job` is the number of
    the job in the program.
    """
    script, args = (sys.argv[0], sys.argv[1:]) if sys.argv else ("", [])
    if not _is_program(script):
        return None
    launch = Launch(
        os.path.abspath(script),
        args,
        os.getcwd(),
        job_options(environment_options()),
        is_installed(),
        sys.executable,
        bool(os.environ.get(DETACHED_VARIABLE)),
        job=job,
        first_job=first_job,
    )
    return without_secrets(launch.changed(settings or {}))


def _is_program(script: str) -> bool:
    """Whether a path is a Python file, or a folder or zip file that Python can run; not the launcher of a notebook."""
    if os.path.isdir(script):
        return os.path.isfile(os.path.join(script, "__main__.py"))
    name = os.path.basename(script)
    return os.path.isfile(script) and name.endswith((".py", ".zip")) and name not in _NOTEBOOKS


def without_secrets(launch: Launch) -> Launch:
    """The launch as it may be stored.

    >>> without_secrets(Launch("job.py", ["--password", "sesame"], "")).args
    ['--password', '***']
    """
    args = redact_command(launch.args)
    secrets = [
        HiddenSecret(_argument_name(args, n), n, _variable_of(before, after))
        for n, (before, after) in enumerate(zip(launch.args, args, strict=True))
        if before != after
    ]
    options = dict(launch.options)
    for key, value in launch.options.items():
        text = f"{key}={value}"
        if (redacted := redact_command([text])[0]) != text:
            options[key] = redacted.removeprefix(f"{key}=")
            secrets.append(HiddenSecret(key, None, _variable_of(text, redacted)))
    return msgspec.structs.replace(launch, args=args, options=options, secrets=secrets)


def _argument_name(args: list[str], number: int) -> str:
    """The argument, or for a hidden value the name before it."""
    return args[number - 1] if args[number] == HIDDEN and number else args[number]


def _variable_of(text: str, redacted: str) -> str:
    """The environment variable that contains a secret; empty if there is none. Its name must be that of a secret, too."""
    if not redacted.endswith(HIDDEN):
        return ""
    value = text.removeprefix(redacted.removesuffix(HIDDEN))
    return next((name for name in sorted(os.environ) if os.environ[name] == value and is_secret(name)), "")
