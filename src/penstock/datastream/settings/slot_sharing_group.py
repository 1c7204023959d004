"""Slot sharing groups and memory sizes of PyFlink. All operators of a job share its slots, so groups have no effect."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import total_ordering

from penstock.config.value_kinds import write_memory
from penstock.errors import ConfigError


@total_ordering
class MemorySize:
    """A memory size in bytes.

    >>> MemorySize.of_mebi_bytes(3).get_kibi_bytes()
    3072
    """

    def __init__(self, bytes_size: int) -> None:
        self._bytes = bytes_size

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Creates a memory size from MiB."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """Returns the size in bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """Returns the size in KiB, rounded down."""
        return self._bytes >> 10

    def get_mebi_bytes(self) -> int:
        """Returns the size in MiB, rounded down."""
        return self._bytes >> 20

    def get_gibi_bytes(self) -> int:
        """Returns the size in GiB, rounded down."""
        return self._bytes >> 30

    def get_tebi_bytes(self) -> int:
        """Returns the size in TiB, rounded down."""
        return self._bytes >> 40

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and self._bytes == other._bytes

    def __lt__(self, other: MemorySize) -> bool:
        if not isinstance(other, MemorySize):
            raise TypeError(f"A MemorySize cannot be compared with {other!r}.")
        return self._bytes < other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __str__(self) -> str:
        return write_memory(self._bytes)


@dataclass(frozen=True)
class SlotSharingGroup:
    """A slot sharing group with a name and optional resources.

    >>> SlotSharingGroup.builder("heavy").set_cpu_cores(2.0).set_task_heap_memory_mb(100).build().get_cpu_cores()
    2.0
    """

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: tuple[tuple[str, float], ...] = ()

    def get_name(self) -> str:
        """Returns the name of the group."""
        return self.name

    def get_managed_memory(self) -> MemorySize | None:
        """Returns the configured value, which has no effect."""
        return self.managed_memory

    def get_task_heap_memory(self) -> MemorySize | None:
        """Returns the configured value, which has no effect."""
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Returns the configured value, which has no effect."""
        return self.task_off_heap_memory

    def get_cpu_cores(self) -> float | None:
        """Returns the configured value, which has no effect."""
        return self.cpu_cores

    def get_external_resources(self) -> dict[str, float]:
        """Returns the configured value, which has no effect."""
        return dict(self.external_resources)

    def requests_resources(self) -> bool:
        """Returns whether the group requests resources."""
        return self != SlotSharingGroup(self.name)

    def asks_for_resources(self) -> bool:
        """Returns whether the group requests resources.

        .. deprecated:: 0.2 Use `requests_resources`.
        """
        warnings.warn("asks_for_resources is deprecated. Use requests_resources.", DeprecationWarning, stacklevel=2)
        return self.requests_resources()

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Returns a builder for a group with this name."""
        return SlotSharingGroup.Builder(name)

    @dataclass
    class Builder:
        """Builder of a `SlotSharingGroup`."""

        name: str
        _values: dict[str, float | MemorySize] = field(default_factory=dict)
        _external: dict[str, float] = field(default_factory=dict)

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            _check_positive("CPU cores", cpu_cores > 0, cpu_cores)
            return self._with("cpu_cores", cpu_cores)

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            _check_positive("task heap memory", task_heap_memory.get_bytes() > 0, task_heap_memory)
            return self._with("task_heap_memory", task_heap_memory)

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            return self._with("task_off_heap_memory", task_off_heap_memory)

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            return self._with("managed_memory", managed_memory)

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            self._external[name] = value
            return self

        def _with(self, name: str, value: float | MemorySize) -> SlotSharingGroup.Builder:
            self._values[name] = value
            return self

        def build(self) -> SlotSharingGroup:
            """Builds the group. As in Flink, a group with resources needs CPU cores and task heap memory."""
            missing = {"cpu_cores", "task_heap_memory"} - self._values.keys()
            if missing and (self._values or self._external):
                raise ConfigError(
                    "SLOT_SHARING_GROUP",
                    f"Slot sharing group '{self.name}' requests resources without {' and '.join(sorted(missing))}. Set both CPU "
                    "cores and task heap memory, or no resource.",
                )
            return SlotSharingGroup(self.name, **self._values, external_resources=tuple(self._external.items()))  # type: ignore[arg-type]


def _check_positive(resource: str, positive: bool, value: float | MemorySize) -> None:
    if not positive:
        raise ConfigError(
            "SLOT_SHARING_GROUP", f"The {resource} of a slot sharing group is {value}, but must be positive."
        )
