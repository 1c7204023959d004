"""Names of the files of a file sink."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OutputFileConfig:
    """Prefix and suffix of file names.

    >>> OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
    OutputFileConfig(part_prefix='words', part_suffix='.txt')
    """

    part_prefix: str = "part"
    part_suffix: str = ""

    def get_part_prefix(self) -> str:
        """Returns the prefix."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Returns the suffix."""
        return self.part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Returns a builder. The default prefix is `part`, and the default suffix is empty."""
        return OutputFileConfig.OutputFileConfigBuilder()

    class OutputFileConfigBuilder:
        """Builds an OutputFileConfig."""

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
