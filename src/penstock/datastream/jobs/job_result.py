"""The result of a job."""

from __future__ import annotations

from typing import Any

from penstock.metrics import JobMetrics


class JobID(str):
    """The globally unique id of a job, 32 hexadecimal digits."""

    __slots__ = ()


class JobExecutionResult:
    """The result of a job: its duration and accumulators.

    In addition to PyFlink's methods it has the attributes `checkpoint` (the checkpoint folder), `attempts` (how often the job
    was started), `metrics` (the metrics of user functions by subtask) and `batches` (the reports of the last batches).
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
        self.batches = batches  # reports; `millis` is the duration that Spark measured
        self.metrics = JobMetrics() if metrics is None else metrics  # of user functions, by subtask
        self.attempts = attempts
        self._accumulators = accumulators or {}

    def get_job_id(self) -> JobID:
        """Returns the id of the job."""
        return self.job_id

    def get_net_runtime(self) -> int:
        """Returns the duration of the job in milliseconds."""
        return int(self.seconds * 1000)

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Returns the value of an accumulator, or None."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Returns all accumulators and metrics. Names have the form `operator.metric`."""
        return dict(self._accumulators)

    def __str__(self) -> str:
        lines = "".join(f"\n- {name}: {value}" for name, value in self._accumulators.items())
        return f"Job {self.job_id} finished after {self.get_net_runtime()} ms.{lines}"
