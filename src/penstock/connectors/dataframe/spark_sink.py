"""A sink that writes with a Spark data source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.connectors.dataframe.foreach_batch import ForeachBatchSink
from penstock.connectors.secret import reveal_secrets, wrap_secrets
from penstock.types import TypeInformation


class SparkSink(ForeachBatchSink):
    """Writes each batch with a Spark data source such as parquet, jdbc, kafka or delta. Delivery is at-least-once.

    `options` are the Spark options of the format; Secrets in them are redacted. A job that consists only of a DataFrame and this
    sink runs without Python code and can use Spark's real-time mode.

    >>> SparkSink("kafka", {"topic": "out"})
    SparkSink('kafka')
    """

    native = True

    def __init__(
        self,
        format: str,
        options: Mapping[str, Any] | None = None,
        mode: str = "append",
        kind: TypeInformation | None = None,
    ) -> None:
        super().__init__(self._write, kind)
        self.format = format
        self.options = wrap_secrets(options or {})
        self.mode = mode

    def __repr__(self) -> str:
        return f"SparkSink('{self.format}')"

    def with_type(self, kind: TypeInformation) -> SparkSink:
        return SparkSink(self.format, self.options, self.mode, kind)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "options": {}}

    def plain_options(self) -> dict[str, str]:
        """Returns the options with revealed secrets, for Spark."""
        return {name: str(value) for name, value in reveal_secrets(self.options).items()}

    def _write(self, frame: Any, batch: int) -> None:
        frame.write.format(self.format).options(**self.plain_options()).mode(self.mode).save()
