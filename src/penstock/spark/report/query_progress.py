"""What Spark tells of a query's batches: how long their parts took, and what a running one waits for."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.jobs.checkpoints import Checkpoint, Measured, Unfinished

_LOGS = 2  # files: the offsets before a batch, the commit after it
_MOST_NAMED = 20


def measured(query: StreamingQuery, known: int) -> dict[int, Measured]:
    """The batches that Spark has told of since the known one."""
    last = query.lastProgress
    if last is None or last["batchId"] <= known:
        return {}
    told = [last] if last["batchId"] == known + 1 else query.recentProgress
    return {p["batchId"]: _measured(p) for p in told if p["batchId"] > known and "addBatch" in p["durationMs"]}


def _measured(progress: Any) -> Measured:
    millis = progress["durationMs"]
    stores = progress["stateOperators"][::-1]  # Spark names the last level first
    return Measured(
        datetime.fromisoformat(progress["timestamp"]).timestamp(),
        progress["batchDuration"] / 1000,
        _sum(millis, "latestOffset", "getBatch", "queryPlanning"),
        _sum(millis, "walCommit", "commitOffsets"),
        _sum(millis, "addBatch"),
        [_mean(store, store["commitTimeMs"]) for store in stores],
        [_mean(store, _custom(store, "rocksdbLoadLatencyMs")) for store in stores],
        _LOGS + sum(_stores(store) + _custom(store, "rocksdbFilesCopied") for store in stores),
    )


def _sum(millis: Mapping[str, int], *names: str) -> float:
    return sum(millis.get(name, 0) for name in names) / 1000


def _stores(store: Mapping[str, Any]) -> int:
    return max(1, int(store.get("numStateStoreInstances", 1)))


def _custom(store: Mapping[str, Any], name: str) -> int:
    return int((store.get("customMetrics") or {}).get(name, 0))


def _mean(store: Mapping[str, Any], millis: int) -> float:
    """Spark adds up the tasks."""
    return round(millis / 1000 / _stores(store), 4)


def in_progress(session: SparkSession, query: StreamingQuery, batch: int) -> Checkpoint | None:
    """The checkpoint that a query works on now; None: it waits for data, or has only begun to plan."""
    tracker = session.sparkContext.statusTracker()
    jobs = sorted(tracker.getJobIdsForGroup(str(query.runId)))
    info = tracker.getJobInfo(jobs[-1]) if jobs else None
    if info is None or info.status != "RUNNING":
        return None
    store: Any = session.sparkContext._jsc.sc().statusStore()
    stages = [tracker.getStageInfo(number) for number in sorted(info.stageIds)]
    began = store.job(jobs[-1]).submissionTime()
    now = time.time()
    return Checkpoint(
        batch,
        "in progress",
        acknowledged_tasks=sum(s.numCompletedTasks for s in stages if s is not None),
        all_tasks=sum(s.numTasks for s in stages if s is not None),
        measured=Measured(began.get().getTime() / 1000 if began.isDefined() else now),
        waits_for=[
            unfinished
            for level, stage in enumerate(stages)
            if stage is not None and stage.numActiveTasks
            for unfinished in _unfinished(store, level, stage, now)
        ][:_MOST_NAMED],
    )


def _unfinished(store: Any, level: int, stage: Any, now: float) -> list[Unfinished]:
    tasks = store.taskList(stage.stageId, stage.currentAttemptId, stage.numTasks)
    found = []
    for task in (tasks.apply(at) for at in range(tasks.size())):
        if task.status() == "RUNNING":
            began = task.launchTime().getTime() / 1000
            found.append(Unfinished(level, task.index(), task.host(), round(now - began, 1)))
    return found
