"""What a Python function in SQL gets when it is opened."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.metrics import MetricGroup


class FunctionContext:
    """Passed to `open` of a function: metrics, the parameters of the job, and the subtask that calls the function.

    >>> FunctionContext(None, {"limit": "5"}).get_job_parameter("limit", "1")
    '5'
    """

    def __init__(
        self,
        base_metric_group: MetricGroup | None,
        job_parameters: Mapping[str, str],
        task_name: str | None = None,
        task_name_with_subtasks: str | None = None,
        number_of_parallel_subtasks: int | None = None,
        max_number_of_parallel_subtasks: int | None = None,
        index_of_this_subtask: int | None = None,
        attempt_number: int | None = None,
    ) -> None:
        self._metrics = base_metric_group
        self._parameters = job_parameters
        self._task_name = task_name
        self._task_name_with_subtasks = task_name_with_subtasks
        self._parallelism = number_of_parallel_subtasks
        self._max_parallelism = max_number_of_parallel_subtasks
        self._subtask = index_of_this_subtask
        self._attempt = attempt_number

    def get_metric_group(self) -> MetricGroup:
        """Returns the metrics of this function in this subtask."""
        if self._metrics is None:
            raise RuntimeError("There are no metrics outside of a job.")
        return self._metrics

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Returns a parameter of the job (`pipeline.global-job-parameters`), or the default value."""
        return self._parameters.get(key, default_value)

    def get_task_name(self) -> str | None:
        """Returns the name of the operator."""
        return self._task_name

    def get_task_name_with_subtasks(self) -> str | None:
        """Returns the name of the operator and the subtask, for example `Calc (3/6)`."""
        return self._task_name_with_subtasks

    def get_number_of_parallel_subtasks(self) -> int | None:
        """Returns the parallelism of the operator."""
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int | None:
        """Returns the maximum parallelism, which is the number of key groups."""
        return self._max_parallelism

    def get_index_of_this_subtask(self) -> int | None:
        """Returns the index of this subtask, starting at 0."""
        return self._subtask

    def get_attempt_number(self) -> int | None:
        """Returns the attempt number: 0 in the first attempt."""
        return self._attempt
