"""How a job runs. Most of Flink's settings are about Java or about Flink's own tasks: those are kept and change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.config import (
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
    SNAPSHOT_COMPRESSION,
    WATERMARK_INTERVAL,
    Configuration,
    Option,
)


class ExecutionConfig:
    """A view of a job's configuration. What says "kept" is given back and changes nothing.

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

    # -- what has an effect

    def get_parallelism(self) -> int:
        """PARALLELISM_DEFAULT: not set."""
        chosen: int | None = self._configuration.get(PARALLELISM)
        return self.PARALLELISM_DEFAULT if chosen is None else chosen

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """PARALLELISM_DEFAULT takes back what was set; PARALLELISM_UNKNOWN leaves it."""
        if parallelism == self.PARALLELISM_DEFAULT:
            self._configuration.unset(PARALLELISM)
        elif parallelism != self.PARALLELISM_UNKNOWN:
            self._set(PARALLELISM, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups."""
        return int(self._configuration.get(MAX_PARALLELISM))

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """The number of key groups, from 1 to 32768."""
        return self._set(MAX_PARALLELISM, max_parallelism)

    def get_global_job_parameters(self) -> dict[str, str]:
        """What was set for all functions to read, as text."""
        return dict(self._configuration.get(PARAMETERS))

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, Any]) -> ExecutionConfig:
        """What functions read with `runtime_context.get_job_parameter`; values become text."""
        return self._set(PARAMETERS, global_job_parameters_dict)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Operators without a uid get one made from their name and number."""
        return self._set(AUTO_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Every operator must be given a uid then, or the job is refused."""
        return self._set(AUTO_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators without a uid get one."""
        return self._flag(AUTO_UIDS)

    def get_task_cancellation_timeout(self) -> int:
        """How long a cancelled job may take to end, in milliseconds."""
        return int(self._configuration.get(CANCEL_TIMEOUT))

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Milliseconds that the end of a job waits for tasks that still run; 0: as long as they need."""
        return self._set(CANCEL_TIMEOUT, timeout)

    # -- what is kept

    def get_task_cancellation_interval(self) -> int:
        """What was set; it changes nothing."""
        return int(self._configuration.get(CANCEL_INTERVAL))

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Kept: Spark ends tasks by its own rules."""
        return self._set(CANCEL_INTERVAL, interval)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Kept: watermarks are computed after every record."""
        return self._set(WATERMARK_INTERVAL, interval)

    def get_auto_watermark_interval(self) -> int:
        """What was set; watermarks are made after every record."""
        return int(self._configuration.get(WATERMARK_INTERVAL))

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Kept: there are no latency marks."""
        return self._set(LATENCY_INTERVAL, max(interval, 0))

    def get_latency_tracking_interval(self) -> int:
        """What was set; it changes nothing."""
        return int(self._configuration.get(LATENCY_INTERVAL))

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Kept: Python functions carry only what they use."""
        return self._set(CLOSURE_CLEANER, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Kept, and changes nothing."""
        return self._set(CLOSURE_CLEANER, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """What was set; it changes nothing."""
        return bool(self._configuration.get(CLOSURE_CLEANER) != "NONE")

    def enable_object_reuse(self) -> ExecutionConfig:
        """Kept: steps in a chain always share their elements."""
        return self._set(OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Kept, and changes nothing."""
        return self._set(OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        """What was set; it changes nothing."""
        return self._flag(OBJECT_REUSE)

    def is_use_snapshot_compression(self) -> bool:
        """What was set; it changes nothing."""
        return self._flag(SNAPSHOT_COMPRESSION)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Kept: Spark compresses its checkpoints by its own rules."""
        return self._set(SNAPSHOT_COMPRESSION, use_snapshot_compression)

    # -- Java's serializers: no element goes through them

    def enable_force_kryo(self) -> ExecutionConfig:
        """Kept."""
        return self._set(FORCE_KRYO, True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Kept, and changes nothing."""
        return self._set(FORCE_KRYO, False)

    def is_force_kryo_enabled(self) -> bool:
        """What was set; it changes nothing."""
        return self._flag(FORCE_KRYO)

    def enable_force_avro(self) -> ExecutionConfig:
        """Kept."""
        return self._set(FORCE_AVRO, True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Kept, and changes nothing."""
        return self._set(FORCE_AVRO, False)

    def is_force_avro_enabled(self) -> bool:
        """What was set; it changes nothing."""
        return self._flag(FORCE_AVRO)

    def enable_generic_types(self) -> ExecutionConfig:
        """Kept."""
        return self._set(GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Kept, and changes nothing."""
        return self._set(GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        """What was set; it changes nothing."""
        return not self._flag(GENERIC_TYPES)

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """None: Kryo is not used."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """None: Kryo is not used."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """None: there are no Java objects."""
        return []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
