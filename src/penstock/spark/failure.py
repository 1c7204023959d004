"""Spark's failures in our words."""

from __future__ import annotations

import re
from typing import Any

from penstock import errors


def in_our_words(failure: Any) -> Exception:
    """Our error out of Spark's stack, if one of ours is the cause."""
    text = str(failure)
    found = re.findall(r"penstock\.errors\.(\w+): \[(\w+)\] (.*)", text)
    if not found:
        python = re.findall(r"^(\w+(?:\.\w+)*(?:Error|Exception): .*)$", text, re.MULTILINE)
        told = python[-1] if python else text.splitlines()[0]
        error: Exception = errors.JobError("JOB_FAILED", f"The job failed in Spark: {told[:500]}")
        error.__cause__ = failure if isinstance(failure, BaseException) else None
        return error
    name, code, message = found[-1]
    ours: Exception = getattr(errors, name)(code, message.strip())
    return ours
