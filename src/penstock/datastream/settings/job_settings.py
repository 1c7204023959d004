"""The settings of a job. PyFlink's methods write to one configuration."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

from penstock.config import Configuration
from penstock.config.checkpoint_options import CHANGELOG, CHECKPOINT_DIR, SAVEPOINT_DIR
from penstock.config.deployment_options import (
    CLASSPATHS,
    JARS,
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
)
from penstock.config.execution_options import (
    BUFFER_TIMEOUT,
    BUFFER_TIMEOUT_ENABLED,
    CHAINING,
    CHAINING_MIXED,
    LOG_LEVEL,
    LOG_OVERRIDES,
    PARALLELISM,
    PARAMETERS,
    RUNTIME_MODE,
)
from penstock.config.rescale_options import RESCALED
from penstock.datastream.jobs.engine import load_engine
from penstock.datastream.settings.checkpoint_config import CheckpointConfig
from penstock.datastream.settings.execution_config import ExecutionConfig
from penstock.datastream.settings.modes import CheckpointingMode, RuntimeExecutionMode
from penstock.datastream.settings.restart_strategies import RestartStrategyConfiguration, configured_strategy
from penstock.datastream.settings.slot_sharing_group import SlotSharingGroup
from penstock.datastream.settings.state_backends import StateBackend, configured_backend
from penstock.errors import ConfigError, PlanError, warn_ignored


class JobSettings:
    """The settings of an environment. All of them are stored in `configuration`, by option key."""

    _local_parallelism: ClassVar[int | None] = None  # shared by all environments, as in Flink

    def __init__(self, configuration: Configuration | None = None) -> None:
        self.configuration = configuration.copy() if configuration is not None else Configuration()
        self.slot_sharing_groups: dict[str, SlotSharingGroup] = {}  # have no effect
        self.cached_files: dict[str, str] = {}  # paths by name; have no effect

    def get_config(self) -> ExecutionConfig:
        """Returns the execution settings."""
        return ExecutionConfig(self.configuration)

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Returns the checkpoint settings."""
        return CheckpointConfig(self.configuration)

    def configure(self, configuration: Configuration) -> None:
        """Copies all options that are set in another configuration. Other options are unchanged."""
        self.configuration.add_all(configuration)

    def set_job_parameters(self, parameters: dict[str, str]) -> Self:
        """Sets the parameters that functions read with `get_job_parameter`."""
        self.configuration.set(PARAMETERS.key, parameters)
        return self

    # -- parallelism

    def set_parallelism(self, parallelism: int) -> Self:
        """Sets the default parallelism of operators."""
        value: Any = parallelism
        if not isinstance(value, int) or value < 1:
            raise ConfigError("PARALLELISM", f"The parallelism is {value!r}, but must be an integer of at least 1.")
        self.configuration.set(PARALLELISM.key, parallelism)
        return self

    def get_parallelism(self) -> int:
        """Returns the default parallelism of operators."""
        return self.configured_parallelism() or load_engine(self.configuration).default_parallelism(self.configuration)

    def configured_parallelism(self) -> int | None:
        """Returns the configured parallelism, or None if the engine determines it."""
        parallelism: int | None = self.configuration.get(RESCALED) or self.configuration.get(PARALLELISM)
        return parallelism or self._local_parallelism

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """Sets the number of key groups, which is the upper limit of the parallelism of the job."""
        if not 1 <= max_parallelism <= 32768:
            raise ConfigError("MAX_PARALLELISM", f"max_parallelism is {max_parallelism}, but must be from 1 to 32768.")
        self.get_config().set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Returns the number of key groups."""
        return self.get_config().get_max_parallelism()

    def get_default_local_parallelism(self) -> int:
        """Returns the configured local parallelism, or the number of cores of this machine."""
        return self._local_parallelism or os.cpu_count() or 1

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Sets the parallelism of all environments that do not set one."""
        JobSettings._local_parallelism = PARALLELISM.read(parallelism)

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Accepted for compatibility, has no effect. All operators of a job share its slots."""
        if slot_sharing_group.requests_resources():
            warn_ignored(
                f"The resources of slot sharing group '{slot_sharing_group.get_name()}' have no effect. All operators of a job "
                "share the same Spark tasks. Set the resources of executors with spark.executor.cores and spark.executor.memory."
            )
        self.slot_sharing_groups[slot_sharing_group.get_name()] = slot_sharing_group
        return self

    # -- execution

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> Self:
        """Sets the execution mode.

        BATCH processes all input key by key and emits only final results. All sources must be bounded. AUTOMATIC selects BATCH
        if all sources are bounded, and otherwise STREAMING.
        """
        self.configuration.set(RUNTIME_MODE.key, execution_mode)
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Sets how long records may wait for a batch to fill. 0 starts batches at once, -1 only when they are full."""
        if timeout_millis < -1:
            raise ConfigError(
                "BUFFER_TIMEOUT", f"The buffer timeout is {timeout_millis} ms, but must be -1 or greater."
            )
        self.configuration.set(BUFFER_TIMEOUT_ENABLED.key, timeout_millis >= 0)
        if timeout_millis >= 0:
            self.configuration.set(BUFFER_TIMEOUT.key, timeout_millis)
        return self

    def get_buffer_timeout(self) -> int:
        """Returns how long records may wait for a batch to fill, in milliseconds; -1 until it is full."""
        enabled = self.configuration.get(BUFFER_TIMEOUT_ENABLED)
        return int(self.configuration.get(BUFFER_TIMEOUT)) if enabled else -1

    def disable_operator_chaining(self) -> Self:
        """Accepted for compatibility, has no effect. Operators without a shuffle between them are always chained."""
        self.configuration.set(CHAINING.key, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Returns the configured value, which has no effect."""
        return bool(self.configuration.get(CHAINING))

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Returns the configured value, which has no effect."""
        return bool(self.configuration.get(CHAINING_MIXED))

    # -- checkpoints, state and restarts

    def enable_checkpointing(
        self, interval: int, mode: CheckpointingMode | None = None, folder: str | None = None
    ) -> Self:
        """Sets the checkpoint interval in milliseconds, and optionally the mode and the folder for checkpoints.

        Every committed batch is a checkpoint, so the interval does not delay output. A job with an interval is restarted after
        a failure, unless a restart strategy says otherwise.
        """
        config = self.get_checkpoint_config().set_checkpoint_interval(interval)
        if mode is not None:
            config.set_checkpointing_mode(mode)
        if folder is not None:
            self.configuration.set(CHECKPOINT_DIR.key, folder)
        return self

    def get_checkpoint_interval(self) -> int:
        """Returns the checkpoint interval in milliseconds, or -1 if it is not set."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Returns the configured mode. Jobs are exactly-once in both modes."""
        return self.get_checkpoint_config().get_checkpointing_mode()

    get_checkpointing_consistency_mode = get_checkpointing_mode

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Returns the configured value, which has no effect."""
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Returns the configured value, which has no effect."""
        return self.get_checkpoint_config().is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(self, enabled: bool) -> Self:
        """Accepted for compatibility, has no effect. State is always stored as a log of changes."""
        self.configuration.set(CHANGELOG.key, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Returns the configured value, or None if it is not set. It has no effect."""
        enabled: bool | None = self.configuration.get(CHANGELOG)
        return enabled

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Sets the folder for savepoints. Each savepoint is a new subfolder."""
        self.configuration.set(SAVEPOINT_DIR.key, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Returns the folder for savepoints, or None if it is not set."""
        return self.configuration.get(SAVEPOINT_DIR) or None

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> Self:
        """Sets the restart strategy. It is equivalent to the options `restart-strategy.*`."""
        _check_class("set_restart_strategy", restart_strategy_configuration, RestartStrategyConfiguration)
        restart_strategy_configuration.write_to(self.configuration)
        return self

    def get_restart_strategy(self) -> RestartStrategyConfiguration | None:
        """Returns the restart strategy, or None if it is not set."""
        return configured_strategy(self.configuration)

    def set_state_backend(self, state_backend: StateBackend) -> Self:
        """Sets the state backend. It is equivalent to the option `state.backend.type`."""
        _check_class("set_state_backend", state_backend, StateBackend)
        state_backend.write_to(self.configuration)
        return self

    def get_state_backend(self) -> StateBackend | None:
        """Returns the state backend, or None if it is not set."""
        return configured_backend(self.configuration)

    # -- dependencies of functions

    def add_python_file(self, file_path: str) -> None:
        """Ships a Python module, a package folder or a zip file to the executors."""
        self.configuration.add_to(PYTHON_FILES, _existing(file_path))

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Installs the packages of a requirements file where functions run.

        With `requirements_cache_dir`, they are installed from a folder of downloaded packages.
        """
        parts = [_existing(requirements_file_path)]
        if requirements_cache_dir is not None:
            parts.append(_existing(requirements_cache_dir))
        self.configuration.set(PYTHON_REQUIREMENTS.key, "#".join(parts))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Ships an archive to the executors and extracts it to a folder named `target_dir`, or like the archive.

        Functions of a job with archives run in the parent of this folder, so that they can open `name/file` as in Flink.
        """
        archive = _existing(archive_path) if target_dir is None else f"{_existing(archive_path)}#{target_dir}"
        self.configuration.add_to(PYTHON_ARCHIVES, archive)

    def set_python_executable(self, python_exec: str) -> None:
        """Sets the Python interpreter that runs functions. It needs the same packages as that of the program."""
        self.configuration.set(PYTHON_EXECUTABLE.key, python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Adds jar files to Spark. Jar files of Flink are ignored with a warning, because Penstock does not need them."""
        ignored = [path for path in jars_path if os.path.basename(path).startswith("flink-")]
        if ignored:
            warn_ignored(
                f"add_jars: {', '.join(os.path.basename(path) for path in ignored)} ignored. The connectors and formats of "
                "Penstock need no jar files of Flink."
            )
        self.configuration.add_to(JARS, *(path for path in jars_path if path not in ignored))

    def add_classpaths(self, *classpaths: str) -> None:
        """Adds jar files to Spark by URL. Every node must be able to read them."""
        for path in classpaths:
            if "://" not in path and not path.startswith("file:"):
                raise PlanError(
                    "CLASSPATH", f"The class path {path} has no protocol. Pass a URL such as file:///jars/a.jar."
                )
        self.configuration.add_to(CLASSPATHS, *classpaths)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Accepted for compatibility. As in PyFlink, Python functions cannot read the distributed file cache.

        Ship files for functions with `add_python_archive`.
        """
        warn_ignored(
            f"register_cached_file: '{name}' is not shipped, because Python functions have no distributed file cache, in Flink "
            "neither. Ship the file with add_python_archive, or read it from shared storage."
        )
        self.cached_files[name] = _existing(file_path) if "://" not in file_path else file_path

    @property
    def files(self) -> dict[str, list[str]]:
        """The paths that are shipped to the executors, by kind."""
        get = self.configuration.get
        requirements: str = get(PYTHON_REQUIREMENTS)
        archives = [a if "#" in a else f"{a}#{os.path.basename(a)}" for a in get(PYTHON_ARCHIVES)]
        return {
            "files": [_existing(f) for f in get(PYTHON_FILES)],
            "requirements": [_existing(p) for p in requirements.split("#")] if requirements else [],
            "archives": archives,
            "jars": [*get(JARS), *get(CLASSPATHS)],
        }

    def log_levels(self) -> dict[str, str]:
        """Returns the levels of the loggers that functions use, by name. The root logger has an empty name."""
        default = {"": self.configuration.get(LOG_LEVEL)} if self.configuration.is_set(LOG_LEVEL) else {}
        return default | {name: LOG_LEVEL.read(level) for name, level in self.configuration.get(LOG_OVERRIDES).items()}

    def job_parameters(self) -> dict[str, Any]:
        return self.get_config().get_global_job_parameters()


def _check_class(method: str, value: object, expected: type) -> None:
    if not isinstance(value, expected):
        raise ConfigError("SETTING_TYPE", f"{method}() got {value!r}, but takes a {expected.__name__}.")


def _existing(path: str) -> str:
    if not os.path.exists(path):
        raise PlanError("FILE_NOT_FOUND", f"{path} was added to the job, but does not exist. Correct the path.")
    return os.path.abspath(path)
