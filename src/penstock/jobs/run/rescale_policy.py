"""Decides from the last checkpoints whether a job should have another parallelism. `rescaler` applies the decision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

import msgspec

from penstock.config import Configuration
from penstock.config.rescale_options import (
    RESCALE_BATCH_TIME,
    RESCALE_BATCHES,
    RESCALE_COOL_DOWN,
    RESCALE_LAG,
    RESCALE_LEAST,
    RESCALE_MOST,
    RESCALE_POLICY,
)
from penstock.jobs.registry.checkpoint_stats import CheckpointStats

_TOO_SLOW = 1.2  # times the target; less is noise
_TOO_FAST = 0.4  # share of the target or of the time below which the job shrinks
_TARGET_USE = 0.7  # share of the target or of the time that a smaller job should need
_MAX_GROWTH = 2.0  # times the parallelism; the effect is observed before it grows further


class Sample(msgspec.Struct, frozen=True):
    """What the policy needs to know of a batch."""

    began: float  # seconds since 1970
    seconds: float
    records: int
    lag: int | None = None  # records not read yet; None if no source knows


class Policy(msgspec.Struct, frozen=True):
    """Targets and limits of the policy. Times are in seconds."""

    mode: Literal["off", "dry-run", "on"] = "off"
    batch_time: float = 0.0  # 0 for no target
    lag: float = 0.0  # 0 for no target
    least: int = 1
    most: int = 1
    cool_down: float = 300.0
    batches: int = 10


class Proposal(msgspec.Struct, frozen=True):
    """Another parallelism, with the reason."""

    parallelism: int
    reason: str


def read_policy(configuration: Configuration, cores: int) -> Policy:
    """Reads the policy from options. By default the parallelism grows up to the number of cores."""
    return Policy(
        configuration.get(RESCALE_POLICY),
        configuration.get(RESCALE_BATCH_TIME) / 1000,
        configuration.get(RESCALE_LAG) / 1000,
        configuration.get(RESCALE_LEAST),
        configuration.get(RESCALE_MOST) or cores,
        configuration.get(RESCALE_COOL_DOWN) / 1000,
        configuration.get(RESCALE_BATCHES),
    )


def to_sample(checkpoint: CheckpointStats) -> Sample:
    known = [source.lag for source in checkpoint.sources if source.lag is not None]
    return Sample(checkpoint.triggered, checkpoint.seconds, checkpoint.records, sum(known) if known else None)


def decide(policy: Policy, parallelism: int, samples: Sequence[Sample], alone_for: float) -> Proposal | None:
    """Returns another parallelism, or None. `alone_for` are the seconds since the job was started or rescaled.

    >>> slow = [Sample(n, 4.0, 1000) for n in range(10)]
    >>> decide(Policy("on", batch_time=2.0, most=8), 2, slow, alone_for=600).parallelism
    4
    """
    busy = [sample for sample in samples[-policy.batches :] if sample.records]
    if policy.mode == "off" or alone_for < policy.cool_down or len(busy) < policy.batches:
        return None
    proposals = [
        p
        for p in (_propose_for_batch_time(policy, parallelism, busy), _propose_for_lag(policy, parallelism, busy))
        if p is not None
    ]
    if not proposals:
        return None
    # Growing helps one target and harms none. Shrinking must be right for all targets.
    largest = max(proposals, key=lambda p: p.parallelism)
    targets = (policy.batch_time > 0) + (policy.lag > 0)
    if largest.parallelism < parallelism and len(proposals) < targets:
        return None
    limited = min(max(largest.parallelism, policy.least), policy.most)
    return None if limited == parallelism else Proposal(limited, largest.reason)


def _propose_for_batch_time(policy: Policy, parallelism: int, busy: Sequence[Sample]) -> Proposal | None:
    target = policy.batch_time
    if not target:
        return None
    seconds = median(sample.seconds for sample in busy)
    reason = f"batches take {seconds:.1f} s, the target is {target:.1f} s"
    if seconds > target * _TOO_SLOW:
        return Proposal(math.ceil(parallelism * min(seconds / target, _MAX_GROWTH)), reason)
    if seconds < target * _TOO_FAST:
        return _propose_smaller(parallelism, seconds / (target * _TARGET_USE), reason)
    return None


def _propose_for_lag(policy: Policy, parallelism: int, busy: Sequence[Sample]) -> Proposal | None:
    lags = [sample.lag for sample in busy if sample.lag is not None]
    if not policy.lag or not lags:
        return None
    worked = sum(sample.seconds for sample in busy)
    rate = sum(sample.records for sample in busy) / max(worked, 1e-9)
    lag_seconds = lags[-1] / rate
    reason = f"{lags[-1]:,} records are waiting, about {lag_seconds:.0f} s of work; the target is {policy.lag:.0f} s"
    if lag_seconds > policy.lag and lags[-1] >= lags[0] * 0.9:  # a job that catches up is not changed
        return Proposal(math.ceil(parallelism * min(lag_seconds / policy.lag, _MAX_GROWTH)), reason)
    passed = busy[-1].began + busy[-1].seconds - busy[0].began
    used = worked / max(passed, worked, 1e-9)
    if lag_seconds < policy.lag * _TOO_FAST and used < _TOO_FAST:
        return _propose_smaller(
            parallelism, used / _TARGET_USE, f"the job is busy {used:.0%} of the time and its lag is small"
        )
    return None


def _propose_smaller(parallelism: int, share: float, reason: str) -> Proposal | None:
    smaller = max(1, math.ceil(parallelism * share))
    return Proposal(smaller, reason) if smaller < parallelism else None
