"""Whether a job should have another parallelism: a rule over its last checkpoints. Pure; who acts on it is elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

import msgspec

from penstock.config import (
    RESCALE_BATCH_TIME,
    RESCALE_BATCHES,
    RESCALE_COOL_DOWN,
    RESCALE_LAG,
    RESCALE_LEAST,
    RESCALE_MOST,
    RESCALE_POLICY,
    Configuration,
)
from penstock.jobs.checkpoints import Checkpoint

_MUCH = 1.2  # so many times the target is too slow: less is noise
_LITTLE = 0.4  # of the target, or of the time: there is room to shrink
_FILLED = 0.7  # of the target, or of the time: what a job that shrinks should then need
_MOST_AT_ONCE = 2.0  # times as many slots: what twice as many give is to be seen before more are asked for


class Sample(msgspec.Struct, frozen=True):
    """One batch."""

    began: float  # seconds since 1970
    seconds: float
    records: int
    lag: int | None = None  # records that wait; None: no source knows


class Policy(msgspec.Struct, frozen=True):
    """What a job should be like, in seconds."""

    mode: Literal["off", "dry-run", "on"] = "off"
    batch_time: float = 0.0  # 0: no target
    lag: float = 0.0  # 0: no target
    least: int = 1
    most: int = 1
    cool_down: float = 300.0
    batches: int = 10


class Proposal(msgspec.Struct, frozen=True):
    """Another parallelism, and why."""

    parallelism: int
    reason: str


def policy_of(configuration: Configuration, cores: int) -> Policy:
    """The policy that options ask for; a job grows up to so many cores, unless they say otherwise."""
    return Policy(
        configuration.get(RESCALE_POLICY),
        configuration.get(RESCALE_BATCH_TIME) / 1000,
        configuration.get(RESCALE_LAG) / 1000,
        configuration.get(RESCALE_LEAST),
        configuration.get(RESCALE_MOST) or cores,
        configuration.get(RESCALE_COOL_DOWN) / 1000,
        configuration.get(RESCALE_BATCHES),
    )


def sample_of(checkpoint: Checkpoint) -> Sample:
    known = [source.lag for source in checkpoint.sources if source.lag is not None]
    return Sample(checkpoint.triggered, checkpoint.seconds, checkpoint.records, sum(known) if known else None)


def decide(policy: Policy, parallelism: int, samples: Sequence[Sample], alone_for: float) -> Proposal | None:
    """Another parallelism, if the job should have one. `alone_for`: seconds since it started, or was rescaled.

    >>> slow = [Sample(n, 4.0, 1000) for n in range(10)]
    >>> decide(Policy("on", batch_time=2.0, most=8), 2, slow, alone_for=600).parallelism
    4
    """
    busy = [sample for sample in samples[-policy.batches :] if sample.records]
    if policy.mode == "off" or alone_for < policy.cool_down or len(busy) < policy.batches:
        return None
    found = [
        p for p in (_by_batch_time(policy, parallelism, busy), _by_lag(policy, parallelism, busy)) if p is not None
    ]
    if not found:
        return None
    # Growing serves one target and harms none; shrinking has to suit both.
    grown = max(found, key=lambda p: p.parallelism)
    targets = (policy.batch_time > 0) + (policy.lag > 0)
    if grown.parallelism < parallelism and len(found) < targets:
        return None
    wanted = min(max(grown.parallelism, policy.least), policy.most)
    return None if wanted == parallelism else Proposal(wanted, grown.reason)


def _by_batch_time(policy: Policy, parallelism: int, busy: Sequence[Sample]) -> Proposal | None:
    target = policy.batch_time
    if not target:
        return None
    taken = median(sample.seconds for sample in busy)
    told = f"batches take {taken:.1f} s, and {target:.1f} s are wanted"
    if taken > target * _MUCH:
        return Proposal(math.ceil(parallelism * min(taken / target, _MOST_AT_ONCE)), told)
    if taken < target * _LITTLE:
        return _smaller(parallelism, taken / (target * _FILLED), told)
    return None


def _by_lag(policy: Policy, parallelism: int, busy: Sequence[Sample]) -> Proposal | None:
    lags = [sample.lag for sample in busy if sample.lag is not None]
    if not policy.lag or not lags:
        return None
    worked = sum(sample.seconds for sample in busy)
    rate = sum(sample.records for sample in busy) / max(worked, 1e-9)
    behind = lags[-1] / rate
    told = f"{lags[-1]:,} records wait, which take {behind:.0f} s to read, and {policy.lag:.0f} s are wanted"
    if behind > policy.lag and lags[-1] >= lags[0] * 0.9:  # one that catches up is let alone
        return Proposal(math.ceil(parallelism * min(behind / policy.lag, _MOST_AT_ONCE)), told)
    passed = busy[-1].began + busy[-1].seconds - busy[0].began
    used = worked / max(passed, worked, 1e-9)
    if behind < policy.lag * _LITTLE and used < _LITTLE:
        return _smaller(parallelism, used / _FILLED, f"the job works {used:.0%} of the time and nothing waits for long")
    return None


def _smaller(parallelism: int, share: float, reason: str) -> Proposal | None:
    wanted = max(1, math.ceil(parallelism * share))
    return Proposal(wanted, reason) if wanted < parallelism else None
