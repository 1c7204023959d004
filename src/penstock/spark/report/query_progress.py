"""Reads from Spark how long the phases of batches took, and which tasks of a running batch are not finished."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SparkTimings, UnfinishedTask

_LOG_FILES = 2  # per batch: its offsets and its commit
_MAX_TASKS = 20


def read_timings(query: StreamingQuery, known: int) -> dict[int, SparkTimings]:
    """Returns the timings of the batches after the batch `known` that Spark has reported."""
    last = query.lastProgress
    if last is None or last["batchId"] <= known:
        return {}
    progress = [last] if last["batchId"] == known + 1 else query.recentProgress
    return {p["batchId"]: _timings(p) for p in progress if p["batchId"] > known and "addBatch" in p["durationMs"]}


def _timings(progress: Any) -> SparkTimings:
    millis = progress["durationMs"]
    stores = progress["stateOperators"][::-1]  # Spark lists the last level first
    return SparkTimings(
        datetime.fromisoformat(progress["timestamp"]).timestamp(),
        progress["batchDuration"] / 1000,
        _sum(millis, "latestOffset", "getBatch", "queryPlanning"),
        _sum(millis, "walCommit", "commitOffsets"),
        _sum(millis, "addBatch"),
        [_mean(store, store["commitTimeMs"]) for store in stores],
        [_mean(store, _custom(store, "rocksdbLoadLatencyMs")) for store in stores],
        _LOG_FILES + sum(_stores(store) + _custom(store, "rocksdbFilesCopied") for store in stores),
    )


def _sum(millis: Mapping[str, int], *names: str) -> float:
    return sum(millis.get(name, 0) for name in names) / 1000


def _stores(store: Mapping[str, Any]) -> int:
    return max(1, int(store.get("numStateStoreInstances", 1)))


def _custom(store: Mapping[str, Any], name: str) -> int:
    return int((store.get("customMetrics") or {}).get(name, 0))


def _mean(store: Mapping[str, Any], millis: int) -> float:
    """Divides the sum of all tasks by their number."""
    return round(millis / 1000 / _stores(store), 4)


def checkpoint_in_progress(
    session: SparkSession, query: StreamingQuery, batch: int, has_control_task: bool
) -> CheckpointStats | None:
    """Returns the checkpoint that a query is processing, or None if no Spark job runs: it waits for data or plans.

    Its numbers are those of the finished checkpoint: the task of the control source, the first one of all, is not counted.
    """
    tracker = session.sparkContext.statusTracker()
    jobs = sorted(tracker.getJobIdsForGroup(str(query.runId)))
    info = tracker.getJobInfo(jobs[-1]) if jobs else None
    if info is None or info.status != "RUNNING":
        return None
    store: Any = session.sparkContext._jsc.sc().statusStore()
    stages = [tracker.getStageInfo(number) for number in sorted(info.stageIds)]
    now, finished, all_tasks = time.time(), 0, 0
    unfinished: list[UnfinishedTask] = []
    for level, stage in enumerate(stages):
        if stage is None:
            continue
        ignored = 1 if has_control_task and not level else 0
        finished, all_tasks = finished + stage.numCompletedTasks, all_tasks + stage.numTasks - ignored
        if not ignored and not stage.numActiveTasks:
            continue
        for index, host, seconds in _tasks(store, stage, now):
            if index < ignored:
                finished -= seconds is None
            elif seconds is not None:
                unfinished.append(UnfinishedTask(level, index - ignored, host, round(seconds, 1)))
    return CheckpointStats(
        batch,
        "in progress",
        acknowledged_tasks=max(0, finished),
        all_tasks=all_tasks,
        measured=SparkTimings(_trigger_time(query) or now),
        waits_for=unfinished[:_MAX_TASKS],
    )


def _trigger_time(query: StreamingQuery) -> float | None:
    """When the current batch began, in seconds since 1970, as Spark reports it when the batch is finished."""
    try:
        context: Any = query._jsq.streamingQuery().getLatestExecutionContext()
        return int(context.currentTriggerStartTimestamp()) / 1000
    except (Py4JError, TypeError):  # an interface that Spark may change
        return None


def _tasks(store: Any, stage: Any, now: float) -> list[tuple[int, str, float | None]]:
    """The tasks of a stage that have started: index, host, and seconds since the start of a running one."""
    tasks = store.taskList(stage.stageId, stage.currentAttemptId, stage.numTasks)
    found: list[tuple[int, str, float | None]] = []
    for task in (tasks.apply(at) for at in range(tasks.size())):
        if task.status() == "RUNNING":
            found.append((task.index(), task.host(), now - task.launchTime().getTime() / 1000))
        elif task.status() == "SUCCESS":
            found.append((task.index(), task.host(), None))
    return found
