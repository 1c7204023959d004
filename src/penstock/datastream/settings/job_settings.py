"""What can be set for a job: one configuration, and PyFlink's methods that write into it."""

from __future__ import annotations

import os
import warnings
from typing import Any, ClassVar, Self

from penstock.config import (
    BUFFER_TIMEOUT,
    BUFFER_TIMEOUT_ENABLED,
    CHAINING,
    CHAINING_MIXED,
    CHANGELOG,
    CHECKPOINT_DIR,
    CLASSPATHS,
    JARS,
    PARALLELISM,
    PARAMETERS,
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_REQUIREMENTS,
    RESCALED,
    RUNTIME_MODE,
    SAVEPOINT_DIR,
    Configuration,
)
from penstock.datastream.checkpoint_config import CheckpointConfig
from penstock.datastream.engine import engine_of
from penstock.datastream.execution_config import ExecutionConfig
from penstock.datastream.modes import CheckpointingMode, RuntimeExecutionMode
from penstock.datastream.restart_strategies import RestartStrategyConfiguration, strategy_in
from penstock.datastream.slot_sharing_group import SlotSharingGroup
from penstock.datastream.state_backends import StateBackend, backend_in
from penstock.errors import ConfigError, OptionIgnored, PlanError, UnsupportedOperation


class JobSettings:
    """The settings of an environment. All of them stand in `configuration`, so that a key and a method mean the same."""

    _local_parallelism: ClassVar[int | None] = None  # of all environments, as in Flink

    def __init__(self, configuration: Configuration | None = None) -> None:
        self.configuration = configuration.copy() if configuration is not None else Configuration()

    def get_config(self) -> ExecutionConfig:
        """The settings of this environment that have methods of their own."""
        return ExecutionConfig(self.configuration)

    def get_checkpoint_config(self) -> CheckpointConfig:
        """The settings of checkpoints."""
        return CheckpointConfig(self.configuration)

    def configure(self, configuration: Configuration) -> None:
        """Takes over what another configuration sets; the rest stays."""
        self.configuration.add_all(configuration)

    def set_job_parameters(self, parameters: dict[str, str]) -> Self:
        """Short for `get_config().set_global_job_parameters`."""
        self.configuration.set(PARAMETERS.key, parameters)
        return self

    # -- parallelism

    def set_parallelism(self, parallelism: int) -> Self:
        """How many subtasks operators have, unless they say otherwise."""
        given: Any = parallelism
        if not isinstance(given, int) or given < 1:
            raise ConfigError(
                "PARALLELISM", f"A parallelism of {parallelism!r} was set; it must be a whole number, at least 1."
            )
        self.configuration.set(PARALLELISM.key, parallelism)
        return self

    def get_parallelism(self) -> int:
        """How many subtasks operators have."""
        return self.chosen_parallelism() or engine_of(self.configuration).default_parallelism(self.configuration)

    def chosen_parallelism(self) -> int | None:
        """What somebody set; None: the engine chooses."""
        chosen: int | None = self.configuration.get(RESCALED) or self.configuration.get(PARALLELISM)
        return chosen or self._local_parallelism

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """The number of key groups: the most subtasks that the job can ever have."""
        if not 1 <= max_parallelism <= 32768:
            raise ConfigError("MAX_PARALLELISM", f"max_parallelism is {max_parallelism}; it must be from 1 to 32768.")
        self.get_config().set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups."""
        return self.get_config().get_max_parallelism()

    def get_default_local_parallelism(self) -> int:
        """What was set; else the number of this machine's cores."""
        return self._local_parallelism or os.cpu_count() or 1

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """The parallelism of all environments that set none."""
        JobSettings._local_parallelism = PARALLELISM.read(parallelism)

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Taken when it asks for no resources: all operators of a job share its slots anyway."""
        if slot_sharing_group.asks_for_resources():
            raise UnsupportedOperation(
                "SLOT_RESOURCES",
                f"Slot sharing group '{slot_sharing_group.get_name()}' asks for resources, and all operators of a job share "
                "the same Spark tasks. Give executors their cores and memory with spark.executor.cores and spark.executor.memory.",
            )
        return self

    # -- how it runs

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> Self:
        """BATCH takes all input key by key and gives final results only; its sources must be bounded.

        AUTOMATIC is BATCH when they all are, and STREAMING else.
        """
        self.configuration.set(RUNTIME_MODE.key, execution_mode)
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Kept: records travel with their batch. -1 means no timeout."""
        if timeout_millis < -1:
            raise ConfigError(
                "BUFFER_TIMEOUT", f"A buffer timeout of {timeout_millis} was set; -1 or more is expected."
            )
        self.configuration.set(BUFFER_TIMEOUT_ENABLED.key, timeout_millis >= 0)
        if timeout_millis >= 0:
            self.configuration.set(BUFFER_TIMEOUT.key, timeout_millis)
        return self

    def get_buffer_timeout(self) -> int:
        """What was set, in milliseconds; it changes nothing."""
        enabled = self.configuration.get(BUFFER_TIMEOUT_ENABLED)
        return int(self.configuration.get(BUFFER_TIMEOUT)) if enabled else -1

    def disable_operator_chaining(self) -> Self:
        """Kept: steps without a shuffle between them always run together; what comes out is the same."""
        self.configuration.set(CHAINING.key, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """What was set; it changes nothing."""
        return bool(self.configuration.get(CHAINING))

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """What was set; it changes nothing."""
        return bool(self.configuration.get(CHAINING_MIXED))

    # -- checkpoints, state and restarts

    def enable_checkpointing(
        self, interval: int, mode: CheckpointingMode | None = None, folder: str | None = None
    ) -> Self:
        """Every committed batch is a checkpoint, so the interval delays nothing. A job that calls this is restarted when it fails,
        unless a restart strategy says otherwise. `folder` is where checkpoints are kept."""
        config = self.get_checkpoint_config().set_checkpoint_interval(interval)
        if mode is not None:
            config.set_checkpointing_mode(mode)
        if folder is not None:
            self.configuration.set(CHECKPOINT_DIR.key, folder)
        return self

    def get_checkpoint_interval(self) -> int:
        """Milliseconds; -1: not set."""
        return self.get_checkpoint_config().get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """What was set; jobs run exactly once in any case."""
        return self.get_checkpoint_config().get_checkpointing_mode()

    get_checkpointing_consistency_mode = get_checkpointing_mode

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """What was set; it changes nothing."""
        return self.get_checkpoint_config().is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """What was set; it changes nothing."""
        return self.get_checkpoint_config().is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(self, enabled: bool) -> Self:
        """Kept: state is always kept as a log of changes."""
        self.configuration.set(CHANGELOG.key, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """None: not set."""
        enabled: bool | None = self.configuration.get(CHANGELOG)
        return enabled

    def set_default_savepoint_directory(self, directory: str) -> Self:
        """Where savepoints go, each into a new folder, unless a path is given with the request."""
        self.configuration.set(SAVEPOINT_DIR.key, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """The folder that was set; None: none was."""
        return self.configuration.get(SAVEPOINT_DIR) or None

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> Self:
        """What happens when the job fails; the same as the keys `restart-strategy.*`."""
        restart_strategy_configuration.write_to(self.configuration)
        return self

    def get_restart_strategy(self) -> RestartStrategyConfiguration | None:
        """What was set; None: nothing was."""
        return strategy_in(self.configuration)

    def set_state_backend(self, state_backend: StateBackend) -> Self:
        """How state is kept while the job runs; the same as the key `state.backend.type`."""
        state_backend.write_to(self.configuration)
        return self

    def get_state_backend(self) -> StateBackend | None:
        """What was set; None: nothing was."""
        return backend_in(self.configuration)

    # -- what is shipped to where functions run

    def add_python_file(self, file_path: str) -> None:
        """Ships a module, a package folder or a zip to the executors."""
        self.configuration.add_to(PYTHON_FILES, _existing(file_path))

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Installs the packages of a requirements file where functions run."""
        parts = [_existing(requirements_file_path)]
        if requirements_cache_dir is not None:
            parts.append(_existing(requirements_cache_dir))
        self.configuration.set(PYTHON_REQUIREMENTS.key, "#".join(parts))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Ships an archive and unpacks it on each executor, under the name of `target_dir`, else of the archive; a function
        finds it with `SparkFiles.get(name)` of pyspark.
        """
        named = _existing(archive_path) if target_dir is None else f"{_existing(archive_path)}#{target_dir}"
        self.configuration.add_to(PYTHON_ARCHIVES, named)

    def set_python_executable(self, python_exec: str) -> None:
        """The Python that runs functions; it must have the same packages as the one that runs the program."""
        self.configuration.set(PYTHON_EXECUTABLE.key, python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Gives Spark more jars. Flink's own, as its connectors come in, are left out: Penstock's need none."""
        flinks = [path for path in jars_path if os.path.basename(path).startswith("flink-")]
        if flinks:
            warnings.warn(
                f"add_jars: {', '.join(os.path.basename(path) for path in flinks)} left out: no Flink runs here, and Penstock's "
                "own connectors and formats need no jar.",
                OptionIgnored,
                stacklevel=2,
            )
        self.configuration.add_to(JARS, *(path for path in jars_path if path not in flinks))

    def add_classpaths(self, *classpaths: str) -> None:
        """Gives Spark jars that every node can reach by their address."""
        for path in classpaths:
            if "://" not in path and not path.startswith("file:"):
                raise PlanError(
                    "CLASSPATH", f"The class path {path} has no protocol; give an address such as file:///jars/a.jar."
                )
        self.configuration.add_to(CLASSPATHS, *classpaths)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Not supported: functions written in Python cannot read Flink's file cache."""
        raise UnsupportedOperation(
            "CACHED_FILE",
            f"Cached file '{name}' was registered; functions written in Python have no way to read Flink's file cache. "
            "Ship it with add_python_archive, or read it where it is.",
        )

    @property
    def files(self) -> dict[str, list[str]]:
        """What is shipped, by kind."""
        get = self.configuration.get
        requirements: str = get(PYTHON_REQUIREMENTS)
        archives = [a if "#" in a else f"{a}#{os.path.basename(a)}" for a in get(PYTHON_ARCHIVES)]
        return {
            "files": [_existing(f) for f in get(PYTHON_FILES)],
            "requirements": [_existing(p) for p in requirements.split("#")] if requirements else [],
            "archives": archives,
            "jars": [*get(JARS), *get(CLASSPATHS)],
        }

    def job_parameters(self) -> dict[str, Any]:
        return self.get_config().get_global_job_parameters()


def _existing(path: str) -> str:
    if not os.path.exists(path):
        raise PlanError("FILE_NOT_FOUND", f"{path} was added to the job and does not exist. Correct the path.")
    return os.path.abspath(path)
