"""The environment variables that Flink sets where Python functions run, and that functions may read."""

from __future__ import annotations

import functools
import os
from pathlib import Path

PYTHON = "python"  # the interpreter that the program chose
PACKAGES = "_PYTHON_REQUIREMENTS_INSTALL_DIR"  # the folder of installed requirements
MEMORY = "_PYTHON_WORKER_MEMORY_LIMIT"  # bytes

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def function_variables(python: str = "", packages: str = "") -> dict[str, str]:
    """Returns the variables. Those without a value are left out.

    >>> function_variables(python="/usr/bin/python3")["python"]
    '/usr/bin/python3'
    """
    chosen = {PYTHON: python, PACKAGES: packages, MEMORY: str(memory_limit())}
    return {name: value for name, value in chosen.items() if value}


@functools.cache
def memory_limit() -> int:
    """Returns how many bytes of memory this process may use: the limit of its container, or the memory of the machine."""
    try:
        limit = _CGROUP.read_text().strip()
    except OSError:
        limit = "max"
    return int(limit) if limit.isdigit() else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
