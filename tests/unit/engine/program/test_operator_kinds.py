"""A new kind of operator needs only an entry in the table of kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import MapStateDescriptor
from penstock.connectors import Chunk, CollectSink
from penstock.engine.program.builder import build_program
from penstock.engine.program.operator_kinds import KINDS, OperatorKind, make_operator, operator_traits
from penstock.engine.program.program import OperatorProgram, OperatorTraits
from penstock.engine.wire.frames import Control
from penstock.errors import PlanError, StateError
from penstock.plan.graph import JobGraph
from penstock.plan.nodes import Node, OperatorNode, PartitionNode, SinkNode, SourceNode
from penstock.runtime.loop.operator import OperatorContext
from penstock.runtime.state.timers import Timer
from penstock.testing import LocalJob, PushSource

RULES = MapStateDescriptor("rules")


@dataclass(frozen=True)
class SubtaskRulesSpec:
    kind: str = "subtask_rules"
    keyed: bool = False


class SubtaskRules:
    """Writes a different value into broadcast state in each slot."""

    keyed = False

    def open(self, context: OperatorContext) -> None:
        self._index = context.runtime.get_index_of_this_subtask()
        self._rules = context.backend.handle(RULES, "slot")

    def elements(self) -> tuple[Callable[[Any, Any], Any], ...]:
        return (self._process,)

    def _process(self, value: Any, context: Any) -> Any:
        self._rules.put(value, self._index)
        return (value,)

    def on_timer(self, timer: Timer, context: OperatorContext) -> None:
        """Sets no timers."""

    def close(self) -> None:
        """Has nothing to close."""


def _subtask_rules(program: OperatorProgram, slot: int) -> Any:
    return SubtaskRules()


def build_job() -> LocalJob:
    nodes: tuple[Node, ...] = (
        SourceNode(id=0, name="rules", uid="rules", source=PushSource()),
        PartitionNode(id=1, name="broadcast", uid="broadcast", inputs=(0,), kind="broadcast"),
        OperatorNode(id=2, name="store", uid="store", inputs=(1,), spec=SubtaskRulesSpec()),
        SinkNode(id=3, name="sink", uid="sink", inputs=(2,), sink=CollectSink()),
    )
    return LocalJob(build_program(JobGraph("job", nodes, parallelism=2)))


def test_hosts_follow_the_traits_of_a_new_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    task = (0, Chunk("0", 0, ["a"]), list[str]())
    control = Control("run", 0, {0: ["0"]}, {}, False)
    monkeypatch.setitem(KINDS, "subtask_rules", OperatorKind(_subtask_rules))
    build_job().run([task], control, 0)  # without the trait, slots may differ
    traits = OperatorTraits(has_broadcast_state=True)
    monkeypatch.setitem(KINDS, "subtask_rules", OperatorKind(_subtask_rules, traits=traits))
    with pytest.raises(StateError, match="BROADCAST_DIFFERS"):
        build_job().run([task], control, 0)


def test_every_kind_has_traits() -> None:
    assert operator_traits("dynamic_cep").has_broadcast_state
    assert operator_traits("materialize").materializes
    assert operator_traits("generator").generates_watermarks
    assert operator_traits("window") == OperatorTraits()


def test_an_unknown_kind_is_rejected() -> None:
    program = OperatorProgram(0, "x", "x", 1, SubtaskRulesSpec(), 1)
    with pytest.raises(PlanError, match=r"UNKNOWN_OPERATOR.*'subtask_rules'.*window"):
        make_operator(program, 0)
