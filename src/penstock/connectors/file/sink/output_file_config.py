"""What a sink's files are called."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OutputFileConfig:
    """What the names of files begin and end with.

    >>> OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
    OutputFileConfig(part_prefix='words', part_suffix='.txt')
    """

    part_prefix: str = "part"
    part_suffix: str = ""

    def get_part_prefix(self) -> str:
        """What names begin with."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """What names end with."""
        return self.part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Begins with `part` and no end."""
        return OutputFileConfig.OutputFileConfigBuilder()

    class OutputFileConfigBuilder:
        """Collects the settings."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            return OutputFileConfig(self.part_prefix, self.part_suffix)
