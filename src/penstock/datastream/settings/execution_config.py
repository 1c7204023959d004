"""`ExecutionConfig` of PyFlink. Settings for Java or for Flink's tasks have no effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.config import Configuration, Option
from penstock.config.checkpoint_options import SNAPSHOT_COMPRESSION
from penstock.config.execution_options import (
    AUTO_UIDS,
    CANCEL_INTERVAL,
    CANCEL_TIMEOUT,
    CLOSURE_CLEANER,
    FORCE_AVRO,
    FORCE_KRYO,
    GENERIC_TYPES,
    LATENCY_INTERVAL,
    MAX_PARALLELISM,
    OBJECT_REUSE,
    PARALLELISM,
    PARAMETERS,
    WATERMARK_INTERVAL,
)


class ExecutionConfig:
    """The execution settings of a job. It reads and writes the configuration of the job.

    Settings that have no effect are stored and returned.

    >>> ExecutionConfig(Configuration()).set_global_job_parameters({"region": "eu"}).get_global_job_parameters()
    {'region': 'eu'}
    """

    PARALLELISM_DEFAULT = -1
    PARALLELISM_UNKNOWN = -2

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def _set(self, option: Option, value: Any) -> ExecutionConfig:
        self._configuration.set(option.key, value)
        return self

    def _flag(self, option: Option) -> bool:
        return bool(self._configuration.get(option))

    # -- settings with an effect

    def get_parallelism(self) -> int:
        """Returns the parallelism, or PARALLELISM_DEFAULT if it is not set."""
        parallelism: int | None = self._configuration.get(PARALLELISM)
        return self.PARALLELISM_DEFAULT if parallelism is None else parallelism

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Sets the parallelism. PARALLELISM_DEFAULT resets it, PARALLELISM_UNKNOWN leaves it unchanged."""
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.unset(PARALLELISM)
        elif parallelism != self.PARALLELISM_UNKNOWN:
            self._set(PARALLELISM, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Returns the number of key groups."""
        return int(self._configuration.get(MAX_PARALLELISM))

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Sets the number of key groups, from 1 to 32768."""
        return self._set(MAX_PARALLELISM, max_parallelism)

    def get_global_job_parameters(self) -> dict[str, str]:
        """Returns the job parameters, as strings."""
        return dict(self._configuration.get(PARAMETERS))

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, Any]) -> ExecutionConfig:
        """Sets the parameters that functions read with `runtime_context.get_job_parameter`. Values are converted to strings."""
        return self._set(PARAMETERS, global_job_parameters_dict)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Generates uids for operators without one, from their name and number. This is the default."""
        return self._set(AUTO_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Requires a uid for every operator. A job with an operator without a uid is rejected."""
        return self._set(AUTO_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Returns whether uids are generated for operators without one."""
        return self._flag(AUTO_UIDS)

    def get_task_cancellation_timeout(self) -> int:
        """Returns how long a job that ends waits for running tasks, in milliseconds."""
        return int(self._configuration.get(CANCEL_TIMEOUT))

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Sets how long a job that ends waits for running tasks, in milliseconds. 0 means no limit."""
        return self._set(CANCEL_TIMEOUT, timeout)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Does not copy elements between the functions of a task.

        This is faster for elements that can be changed in place. Then a function must not change an element after it has emitted
        it, or if several functions read it.
        """
        return self._set(OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Copies elements that can be changed in place when they are emitted. This is the default."""
        return self._set(OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        """Returns whether the functions of a task share their elements."""
        return self._flag(OBJECT_REUSE)

    # -- settings without an effect

    def get_task_cancellation_interval(self) -> int:
        """Returns the configured value, which has no effect."""
        return int(self._configuration.get(CANCEL_INTERVAL))

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Accepted for compatibility, has no effect. Spark cancels tasks by its own rules."""
        return self._set(CANCEL_INTERVAL, interval)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Accepted for compatibility, has no effect. Watermarks are computed after every record."""
        return self._set(WATERMARK_INTERVAL, interval)

    def get_auto_watermark_interval(self) -> int:
        """Returns the configured value, which has no effect."""
        return int(self._configuration.get(WATERMARK_INTERVAL))

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Accepted for compatibility, has no effect. There are no latency markers."""
        return self._set(LATENCY_INTERVAL, max(interval, 0))

    def get_latency_tracking_interval(self) -> int:
        """Returns the configured value, which has no effect."""
        return int(self._configuration.get(LATENCY_INTERVAL))

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted for compatibility, has no effect. A Python function captures only what it uses."""
        return self._set(CLOSURE_CLEANER, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted for compatibility, has no effect."""
        return self._set(CLOSURE_CLEANER, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """Returns the configured value, which has no effect."""
        return bool(self._configuration.get(CLOSURE_CLEANER) != "NONE")

    def is_use_snapshot_compression(self) -> bool:
        """Returns the configured value, which has no effect."""
        return self._flag(SNAPSHOT_COMPRESSION)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Accepted for compatibility, has no effect. Spark decides how its checkpoints are compressed."""
        return self._set(SNAPSHOT_COMPRESSION, use_snapshot_compression)

    # -- Java serializers, which are not used

    def enable_force_kryo(self) -> ExecutionConfig:
        """Accepted for compatibility, has no effect."""
        return self._set(FORCE_KRYO, True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Accepted for compatibility, has no effect."""
        return self._set(FORCE_KRYO, False)

    def is_force_kryo_enabled(self) -> bool:
        """Returns the configured value, which has no effect."""
        return self._flag(FORCE_KRYO)

    def enable_force_avro(self) -> ExecutionConfig:
        """Accepted for compatibility, has no effect."""
        return self._set(FORCE_AVRO, True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Accepted for compatibility, has no effect."""
        return self._set(FORCE_AVRO, False)

    def is_force_avro_enabled(self) -> bool:
        """Returns the configured value, which has no effect."""
        return self._flag(FORCE_AVRO)

    def enable_generic_types(self) -> ExecutionConfig:
        """Accepted for compatibility, has no effect."""
        return self._set(GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Accepted for compatibility, has no effect."""
        return self._set(GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        """Returns the configured value, which has no effect."""
        return not self._flag(GENERIC_TYPES)

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Returns an empty result, because Kryo is not used."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Returns an empty result, because Kryo is not used."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Returns an empty result, because there are no Java objects."""
        return []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
