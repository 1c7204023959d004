"""How a job ended."""

from __future__ import annotations

from typing import Any

from penstock.metrics import JobMetrics


class JobID(str):
    """The name of a job, unique in the world: 32 hexadecimal digits."""

    __slots__ = ()


class JobExecutionResult:
    """What a job came to: how long it ran, and what was counted.

    Beside PyFlink's methods it has `checkpoint`, the job's folder, `attempts`, how often the job was started, `metrics`,
    what functions measured by subtask, and `batches`, the reports of the last batches.
    """

    def __init__(
        self,
        job_id: str,
        checkpoint: str,
        seconds: float,
        batches: list[dict[str, Any]],
        accumulators: dict[str, Any] | None = None,
        metrics: JobMetrics | None = None,
        attempts: int = 1,
    ) -> None:
        self.job_id = JobID(job_id)
        self.checkpoint = checkpoint
        self.seconds = seconds
        self.batches = batches  # one report each; `millis` is what Spark measured for the batch
        self.metrics = JobMetrics() if metrics is None else metrics  # of user functions, by subtask
        self.attempts = attempts
        self._accumulators = accumulators or {}

    def get_job_id(self) -> JobID:
        """The job's id."""
        return self.job_id

    def get_net_runtime(self) -> int:
        """Milliseconds that the job ran."""
        return int(self.seconds * 1000)

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """What was counted under a name; None: nothing was."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """All that was counted and measured, as `operator.metric`."""
        return dict(self._accumulators)

    def __str__(self) -> str:
        counted = "".join(f"\n- {name}: {value}" for name, value in self._accumulators.items())
        return f"Job {self.job_id} finished after {self.get_net_runtime()} ms.{counted}"
