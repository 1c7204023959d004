"""Reads from Spark how long the phases of batches took, and which tasks of a running batch are not finished."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

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


def checkpoint_in_progress(session: SparkSession, query: StreamingQuery, batch: int) -> CheckpointStats | None:
    """Returns the checkpoint that a query is processing, or None if no Spark job runs: it waits for data or plans."""
    tracker = session.sparkContext.statusTracker()
    jobs = sorted(tracker.getJobIdsForGroup(str(query.runId)))
    info = tracker.getJobInfo(jobs[-1]) if jobs else None
    if info is None or info.status != "RUNNING":
        return None
    store: Any = session.sparkContext._jsc.sc().statusStore()
    stages = [tracker.getStageInfo(number) for number in sorted(info.stageIds)]
    started = store.job(jobs[-1]).submissionTime()
    now = time.time()
    return CheckpointStats(
        batch,
        "in progress",
        acknowledged_tasks=sum(s.numCompletedTasks for s in stages if s is not None),
        all_tasks=sum(s.numTasks for s in stages if s is not None),
        measured=SparkTimings(started.get().getTime() / 1000 if started.isDefined() else now),
        waits_for=[
            task
            for level, stage in enumerate(stages)
            if stage is not None and stage.numActiveTasks
            for task in _unfinished_tasks(store, level, stage, now)
        ][:_MAX_TASKS],
    )


def _unfinished_tasks(store: Any, level: int, stage: Any, now: float) -> list[UnfinishedTask]:
    tasks = store.taskList(stage.stageId, stage.currentAttemptId, stage.numTasks)
    unfinished = []
    for task in (tasks.apply(at) for at in range(tasks.size())):
        if task.status() == "RUNNING":
            started = task.launchTime().getTime() / 1000
            unfinished.append(UnfinishedTask(level, task.index(), task.host(), round(now - started, 1)))
    return unfinished
