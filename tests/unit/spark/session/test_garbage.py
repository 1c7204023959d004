"""When the cycle collector runs in workers. Each case runs in a process of its own, because frozen objects are not freed."""

from __future__ import annotations

import subprocess
import sys

PREPARE = """
import gc, weakref
from penstock.spark.session import garbage as module
from penstock.spark.session.garbage import Garbage

class Node: ...

def make_cycle():
    node = Node()
    node.itself = node
    return weakref.ref(node)

now = 0.0
module.time = type("clock", (), {"monotonic": staticmethod(lambda: now)})
gc.disable()
gc.collect()
garbage = Garbage()
"""


def run(program: str) -> None:
    subprocess.run([sys.executable, "-c", PREPARE + program], check=True, timeout=120)


def test_after_a_task_of_sparks_daemon_the_collector_has_nothing_to_do() -> None:
    run("garbage.end_task(); assert gc.get_freeze_count() > 1000 and gc.collect() == 0")


def test_a_forked_worker_collects_from_time_to_time_and_leaves_frozen_modules_alone() -> None:
    run("""
gc.freeze()  # in the fork server
frozen = gc.get_freeze_count()
garbage.begin_forked_worker()
found = make_cycle()
garbage.end_task(); garbage.after_task()
assert found() is not None
now = 31.0
garbage.end_task(); garbage.after_task()
assert found() is None and gc.get_freeze_count() == frozen
found = make_cycle()
garbage.collect_all()
assert found() is None and gc.get_freeze_count() == frozen
""")
