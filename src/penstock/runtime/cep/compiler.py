"""Compiles a pattern into an automaton, from its last step to its first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.patterns.condition import Always, Both, Condition, Not
from penstock.patterns.pattern import GroupPattern, Pattern
from penstock.patterns.quantifier import ConsumingStrategy
from penstock.runtime.cep.automaton import (
    FINAL,
    IGNORE,
    NORMAL,
    PENDING,
    PROCEED,
    STOP,
    TAKE,
    Automaton,
    AutomatonState,
    Edge,
)
from penstock.runtime.cep.automaton_builder import build_automaton

_END = "$end$"
_NOT_FOLLOW, _NOT_NEXT = ConsumingStrategy.NOT_FOLLOW, ConsumingStrategy.NOT_NEXT


def compile_pattern(pattern: Pattern[Any]) -> Automaton:
    """Returns the automaton of a pattern.

    >>> automaton = compile_pattern(Pattern.begin("a").followed_by("b"))
    >>> [state.name for state in automaton.states]
    ['a', 'b', '$end$']
    """
    compiler = _Compiler(pattern)
    compiler.compile()
    return build_automaton(pattern, compiler.states, compiler.window)


@dataclass(slots=True)
class _CompilerPosition:
    """The position of the compiler in the pattern."""

    step: Pattern[Any]
    following: Pattern[Any] | None = None
    group: GroupPattern[Any] | None = None


@dataclass(slots=True)
class _Compiler:
    pattern: Pattern[Any]
    states: list[AutomatonState] = field(default_factory=list)
    window: int | None = None
    _names: set[str] = field(default_factory=set)
    _stops: dict[str, AutomatonState] = field(default_factory=dict)
    _first_of_loop: dict[int, bool] = field(default_factory=dict)  # by id() of the group
    _before_greedy: dict[str, AutomatonState] = field(default_factory=dict)
    _position: _CompilerPosition = field(init=False)

    def compile(self) -> None:
        self._position = _CompilerPosition(self.pattern)
        self.window = self.pattern.window
        sink = self._compile_later_steps(self._create_state(_END, _END, FINAL))
        self._compile_step(sink).start = True

    # -- states

    def _create_state(self, name: str, pattern: str, kind: int) -> AutomatonState:
        unique, count = name, 0
        while unique in self._names:
            unique, count = f"{name}:{count}", count + 1
        self._names.add(unique)
        state = AutomatonState(unique, pattern, kind)
        self.states.append(state)
        return state

    def _create_step_state(self, kind: int = NORMAL, with_window: bool = True) -> AutomatonState:
        """Returns a new state of the current step.

        In a repetition, the state created first, which is reached last, has no time limit.
        """
        step = self._position.step
        state = self._create_state(step.name, step.name, kind)
        if with_window:
            if step.repetition is None:
                state.window = step.step_window
            elif ":" in state.name:
                state.window = step.repetition.window_time
        return state

    def _stop_state(self, condition: Condition, name: str) -> AutomatonState:
        """Returns the state that ends matches in which a forbidden event occurred. There is one for each such event."""
        state = self._stops.get(name)
        if state is None:
            state = self._stops[name] = self._create_state(name, name, STOP)
            state.add_edge(TAKE, state, condition)
        return state

    # -- steps

    def _compile_later_steps(self, sink: AutomatonState) -> AutomatonState:
        """Compiles all steps but the first, from the last one back. Returns the state that follows the first step."""
        position = self._position
        while position.step.previous is not None:
            strategy = position.step.quantifier.strategy
            if strategy is _NOT_FOLLOW:
                sink = self._compile_not_followed_by(sink)
            elif strategy is _NOT_NEXT:
                sink = self._compile_not_next(sink)
            else:
                sink = self._compile_step(sink)
            position.following, position.step = position.step, position.step.previous
            if position.step.window is not None and (self.window is None or position.step.window < self.window):
                self.window = position.step.window
        return sink

    def _compile_not_followed_by(self, sink: AutomatonState) -> AutomatonState:
        """Between steps, not_followed_by is a condition on edges. At the end, it waits until the time is over."""
        step = self._position.step
        if sink.kind != FINAL or not (step.step_window or self.window):
            return sink
        waiting = self._create_step_state(PENDING)
        condition = self._take_condition(step)
        waiting.add_edge(PROCEED, self._stop_state(condition, step.name), condition)
        waiting.add_edge(IGNORE, waiting, Not(condition))
        return waiting

    def _compile_not_next(self, sink: AutomatonState) -> AutomatonState:
        step = self._position.step
        state = self._create_step_state()
        condition = self._take_condition(step)
        stop = self._stop_state(condition, step.name)
        # The event itself must lead to the final state. A state that can proceed to the final state is already there.
        state.add_edge(IGNORE if sink.kind == FINAL else PROCEED, sink, Not(condition))
        state.add_edge(PROCEED, stop, condition)
        return state

    def _compile_step(self, sink: AutomatonState) -> AutomatonState:
        """Returns the first state of the current step. `sink` is the state after the step."""
        step = self._position.step
        kind = step.quantifier.kind
        if kind == "looping":
            assert step.repetition is not None
            self._set_first_of_loop(False)
            looping = self._compile_loop(self._without_forbidden_events(sink))
            self._set_first_of_loop(True)
            state = self._compile_times(looping, sink)
        elif kind == "times":
            state = self._compile_times(sink, sink)
        else:
            state = self._compile_single(
                sink, sink, self._take_condition(step), self._ignore_condition(step), step.quantifier.optional
            )
        self._add_stop_edges(state)
        return state

    def _compile_times(self, sink: AutomatonState, proceed: AutomatonState) -> AutomatonState:
        """Creates as many states as the step can have events. States after the required number can proceed."""
        step = self._position.step
        times = step.repetition
        assert times is not None
        self._set_first_of_loop(False)
        until = step.until_condition
        ignore = _until_ended(until, self._inner_ignore_condition(step))
        take = _until_ended(until, self._take_condition(step))
        if step.quantifier.greedy and times.lowest != times.highest:
            if until is not None:
                self._before_greedy[sink.name] = self._copy_state(sink)
            _exclude_greedy_events(sink, take)
        last = sink
        for number in range(times.highest - 1):
            optional = number < times.highest - times.lowest
            last = self._compile_single(last, proceed if optional else None, take, ignore, optional)
            self._add_loop_stop_edge(last)
        self._set_first_of_loop(True)
        return self._compile_single(last, proceed, take, self._ignore_condition(step), step.quantifier.optional)

    def _compile_single(
        self,
        sink: AutomatonState,
        proceed: AutomatonState | None,
        take: Condition,
        ignore: Condition | None,
        optional: bool,
    ) -> AutomatonState:
        step = self._position.step
        if isinstance(step, GroupPattern):
            return self._compile_group(step, sink, proceed, optional)
        state = self._create_step_state()
        target = self._without_forbidden_events(sink)
        state.add_edge(TAKE, target, take)
        if optional:
            assert proceed is not None
            self._add_proceed_edge(state, proceed)
        if ignore is not None:
            waiting = state
            if optional or self._is_first_in_optional_group(step):
                waiting = self._create_step_state(with_window=False)
                waiting.add_edge(TAKE, target, take)
                waiting.add_edge(IGNORE, waiting, ignore)
                self._add_stop_edges(waiting)
            state.add_edge(IGNORE, waiting, ignore)
        return state

    def _add_proceed_edge(self, state: AutomatonState, target: AutomatonState) -> None:
        step = self._position.step
        true, until = self._always_condition(), step.until_condition
        if step.quantifier.greedy and until is not None:
            state.add_edge(PROCEED, self._before_greedy[target.name], Both(true, until))
            state.add_edge(PROCEED, target, Both(true, Not(until)))
        else:
            state.add_edge(PROCEED, target, true)

    def _compile_loop(self, sink: AutomatonState) -> AutomatonState:
        step = self._position.step
        if isinstance(step, GroupPattern):
            return self._compile_group_loop(step, sink)
        until = step.until_condition
        ignore = _until_ended(until, self._inner_ignore_condition(step))
        take = _until_ended(until, self._take_condition(step))
        state = self._create_step_state()
        if step.quantifier.greedy:
            if until is not None:
                self._before_greedy[sink.name] = self._copy_state(sink)
            self._add_proceed_edge(state, sink)
            _exclude_greedy_events(sink, self._take_condition(step))
        else:
            state.add_edge(PROCEED, sink, self._always_condition())
        state.add_edge(TAKE, state, take)
        self._add_loop_stop_edge(state)
        if ignore is not None:
            waiting = self._create_step_state(with_window=False)
            waiting.add_edge(TAKE, state, take)
            waiting.add_edge(IGNORE, waiting, ignore)
            state.add_edge(IGNORE, waiting, ignore)
            self._add_loop_stop_edge(waiting)
        return state

    # -- groups

    def _compile_group(
        self, group: GroupPattern[Any], sink: AutomatonState, proceed: AutomatonState | None, optional: bool
    ) -> AutomatonState:
        true = self._always_condition()
        head = self._compile_group_steps(group, sink)
        if optional:
            assert proceed is not None
            head.add_edge(PROCEED, proceed, true)
        return head

    def _compile_group_loop(self, group: GroupPattern[Any], sink: AutomatonState) -> AutomatonState:
        true = self._always_condition()
        repeat = self._create_step_state()
        head = self._compile_group_steps(group, repeat)
        head.add_edge(PROCEED, sink, true)
        repeat.add_edge(PROCEED, head, true)
        return head

    def _compile_group_steps(self, group: GroupPattern[Any], sink: AutomatonState) -> AutomatonState:
        outer = self._position
        self._position = _CompilerPosition(group.get_raw_pattern(), outer.following, group)
        head = self._compile_step(self._compile_later_steps(sink))
        self._position = outer
        return head

    def _set_first_of_loop(self, first: bool) -> None:
        if isinstance(self._position.step, GroupPattern):
            self._first_of_loop[id(self._position.step)] = first

    def _in_first_of_loop(self) -> bool:
        return self._first_of_loop.get(id(self._position.group), True)

    def _is_first_in_group(self, step: Pattern[Any]) -> bool:
        return self._position.group is not None and step.previous is None

    def _is_first_in_optional_group(self, step: Pattern[Any]) -> bool:
        group = self._position.group
        return (
            group is not None
            and self._is_first_in_group(step)
            and self._in_first_of_loop()
            and group.quantifier.optional
        )

    # -- forbidden events

    def _forbidden_events(self) -> list[tuple[Condition, str]]:
        """Returns the conditions of not_followed_by before the current step, with only optional steps in between."""
        conditions = []
        before = self._position.step.previous
        while before is not None:
            negative = before.quantifier.strategy is _NOT_FOLLOW
            if not (negative or before.quantifier.optional):
                break
            if negative:
                conditions.append((self._take_condition(before), before.name))
            before = before.previous
        return conditions

    def _add_stop_edges(self, state: AutomatonState) -> None:
        for condition, name in self._forbidden_events():
            state.add_edge(PROCEED, self._stop_state(condition, name), condition)

    def _add_loop_stop_edge(self, state: AutomatonState) -> None:
        following = self._position.following
        if following is not None and following.quantifier.strategy is _NOT_FOLLOW:
            condition = self._take_condition(following)
            state.add_edge(PROCEED, self._stop_state(condition, following.name), condition)

    def _without_forbidden_events(self, sink: AutomatonState) -> AutomatonState:
        """Returns a copy of a state without the stop edges, because after an optional step these events are allowed again."""
        names = {name for _, name in self._forbidden_events()}
        if not names or not self._position.step.quantifier.optional:
            return sink
        copy = self._create_state(sink.name, sink.pattern, sink.kind)
        copy.window = None
        for edge in sink.edges:
            target = edge.target
            if edge.action == PROCEED:
                if target.kind == STOP:
                    if target.name in names:
                        continue
                else:
                    target = self._without_forbidden_events(target)
            elif target is sink:
                target = copy
            copy.add_edge(edge.action, target, edge.condition)
        return copy

    def _copy_state(self, state: AutomatonState) -> AutomatonState:
        copy = self._create_state(state.pattern, state.pattern, state.kind)
        for edge in state.edges:
            copy.add_edge(edge.action, copy if edge.target is state else edge.target, edge.condition)
        return copy

    # -- conditions

    def _take_condition(self, step: Pattern[Any]) -> Any:
        return _until_ended(self._group_until_condition(), step.get_condition())

    def _always_condition(self) -> Any:
        return _until_ended(self._group_until_condition(), Always())

    def _ignore_condition(self, step: Pattern[Any]) -> Any:
        strategy = step.quantifier.strategy
        if self._is_first_in_group(step):
            assert self._position.group is not None
            quantifier = self._position.group.quantifier
            strategy = quantifier.strategy if self._in_first_of_loop() else quantifier.inner
        return self._skip_condition(strategy, step)

    def _inner_ignore_condition(self, step: Pattern[Any]) -> Any:
        strategy = step.quantifier.inner
        if self._is_first_in_group(step):
            assert self._position.group is not None
            strategy = self._position.group.quantifier.inner
        return self._skip_condition(strategy, step)

    def _skip_condition(self, strategy: ConsumingStrategy, step: Pattern[Any]) -> Any:
        """Returns the condition of events that may be skipped, or None if no event may be skipped."""
        if strategy is ConsumingStrategy.SKIP_TILL_NEXT:
            return _until_ended(self._group_until_condition(), Not(step.get_condition()))
        if strategy is ConsumingStrategy.SKIP_TILL_ANY:
            return _until_ended(self._group_until_condition(), Always())
        return None

    def _group_until_condition(self) -> Condition | None:
        return None if self._position.group is None else self._position.group.until_condition


def _until_ended(until: Condition | None, condition: Any) -> Any:
    """Returns a condition that holds only until a loop has ended. None, which allows no event, stays None."""
    return condition if until is None or condition is None else Both(Not(until), condition)


def _exclude_greedy_events(state: AutomatonState, take: Condition) -> None:
    """Excludes from the edges of a state the events that the greedy loop before it can take."""
    for index, edge in enumerate(state.edges):
        state.edges[index] = Edge(edge.action, edge.source, edge.target, Both(edge.condition, Not(take)))
