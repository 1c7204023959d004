"""Compiles a pattern into an automaton, from its last step to its first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.patterns.condition import Always, Both, Condition, Not
from penstock.patterns.pattern import GroupPattern, Pattern
from penstock.patterns.quantifier import ConsumingStrategy
from penstock.runtime.cep.automaton import FINAL, IGNORE, NORMAL, PENDING, PROCEED, STOP, TAKE, Automaton, Edge, State
from penstock.runtime.cep.finish import finish

_END = "$end$"
_NOT_FOLLOW, _NOT_NEXT = ConsumingStrategy.NOT_FOLLOW, ConsumingStrategy.NOT_NEXT


def compile_pattern(pattern: Pattern[Any]) -> Automaton:
    """The automaton of a pattern.

    >>> automaton = compile_pattern(Pattern.begin("a").followed_by("b"))
    >>> [state.name for state in automaton.states]
    ['a', 'b', '$end$']
    """
    compiler = _Compiler(pattern)
    compiler.compile()
    return finish(pattern, compiler.states, compiler.window)


@dataclass(slots=True)
class _Place:
    """Where in the pattern the compiler is."""

    step: Pattern[Any]
    following: Pattern[Any] | None = None
    group: GroupPattern[Any] | None = None


@dataclass(slots=True)
class _Compiler:
    pattern: Pattern[Any]
    states: list[State] = field(default_factory=list)
    window: int | None = None
    _names: set[str] = field(default_factory=set)
    _stops: dict[str, State] = field(default_factory=dict)
    _first_of_loop: dict[int, bool] = field(default_factory=dict)  # by the id of a group
    _before_greedy: dict[str, State] = field(default_factory=dict)
    _at: _Place = field(init=False)

    def compile(self) -> None:
        self._at = _Place(self.pattern)
        self.window = self.pattern.window
        sink = self._steps_before_first(self._state(_END, _END, FINAL))
        self._step(sink).start = True

    # -- states

    def _state(self, name: str, pattern: str, kind: int) -> State:
        unique, count = name, 0
        while unique in self._names:
            unique, count = f"{name}:{count}", count + 1
        self._names.add(unique)
        state = State(unique, pattern, kind)
        self.states.append(state)
        return state

    def _own_state(self, kind: int = NORMAL, takes: bool = True) -> State:
        """A state of the current step. In a repetition the first one made, which is the last one met, has no limit of time."""
        step = self._at.step
        state = self._state(step.name, step.name, kind)
        if takes:
            if step.repetition is None:
                state.window = step.step_window
            elif ":" in state.name:
                state.window = step.repetition.window_time
        return state

    def _stop(self, condition: Condition, name: str) -> State:
        """The end of matches in which an event came that must not come; there is one for each such event."""
        state = self._stops.get(name)
        if state is None:
            state = self._stops[name] = self._state(name, name, STOP)
            state.add(TAKE, state, condition)
        return state

    # -- steps

    def _steps_before_first(self, sink: State) -> State:
        at = self._at
        while at.step.previous is not None:
            strategy = at.step.quantifier.strategy
            if strategy is _NOT_FOLLOW:
                sink = self._not_followed(sink)
            elif strategy is _NOT_NEXT:
                sink = self._not_next(sink)
            else:
                sink = self._step(sink)
            at.following, at.step = at.step, at.step.previous
            if at.step.window is not None and (self.window is None or at.step.window < self.window):
                self.window = at.step.window
        return sink

    def _not_followed(self, sink: State) -> State:
        """Between steps it is a condition on edges; at the end it waits for the time to be over."""
        step = self._at.step
        if sink.kind != FINAL or not (step.step_window or self.window):
            return sink
        waiting = self._own_state(PENDING)
        condition = self._take(step)
        waiting.add(PROCEED, self._stop(condition, step.name), condition)
        waiting.add(IGNORE, waiting, Not(condition))
        return waiting

    def _not_next(self, sink: State) -> State:
        step = self._at.step
        state = self._own_state()
        condition = self._take(step)
        stop = self._stop(condition, step.name)
        # To the end the event itself must lead: a state from which one can proceed there is there already.
        state.add(IGNORE if sink.kind == FINAL else PROCEED, sink, Not(condition))
        state.add(PROCEED, stop, condition)
        return state

    def _step(self, sink: State) -> State:
        step = self._at.step
        kind = step.quantifier.kind
        if kind == "looping":
            assert step.repetition is not None
            self._set_first_of_loop(False)
            looping = self._loop(self._without_nots(sink))
            self._set_first_of_loop(True)
            made = self._times(looping, sink)
        elif kind == "times":
            made = self._times(sink, sink)
        else:
            made = self._single(sink, sink, self._take(step), self._ignore(step), step.quantifier.optional)
        self._add_stops(made)
        return made

    def _times(self, sink: State, proceed: State) -> State:
        """As many states as the step has events at most; from those behind the least number one can proceed."""
        step = self._at.step
        times = step.repetition
        assert times is not None
        self._set_first_of_loop(False)
        until = step.until_condition
        ignore = _unless(until, self._inner_ignore(step))
        take = _unless(until, self._take(step))
        if step.quantifier.greedy and times.lowest != times.highest:
            if until is not None:
                self._before_greedy[sink.name] = self._copy(sink)
            _leave_to_greedy(sink, take)
        last = sink
        for number in range(times.highest - 1):
            optional = number < times.highest - times.lowest
            last = self._single(last, proceed if optional else None, take, ignore, optional)
            self._stop_loop(last)
        self._set_first_of_loop(True)
        return self._single(last, proceed, take, self._ignore(step), step.quantifier.optional)

    def _single(
        self, sink: State, proceed: State | None, take: Condition, ignore: Condition | None, optional: bool
    ) -> State:
        step = self._at.step
        if isinstance(step, GroupPattern):
            return self._group(step, sink, proceed, optional)
        state = self._own_state()
        target = self._without_nots(sink)
        state.add(TAKE, target, take)
        if optional:
            assert proceed is not None
            self._proceed(state, proceed)
        if ignore is not None:
            waiting = state
            if optional or self._heads_optional_group(step):
                waiting = self._own_state(takes=False)
                waiting.add(TAKE, target, take)
                waiting.add(IGNORE, waiting, ignore)
                self._add_stops(waiting)
            state.add(IGNORE, waiting, ignore)
        return state

    def _proceed(self, state: State, target: State) -> None:
        step = self._at.step
        true, until = self._true(), step.until_condition
        if step.quantifier.greedy and until is not None:
            state.add(PROCEED, self._before_greedy[target.name], Both(true, until))
            state.add(PROCEED, target, Both(true, Not(until)))
        else:
            state.add(PROCEED, target, true)

    def _loop(self, sink: State) -> State:
        step = self._at.step
        if isinstance(step, GroupPattern):
            return self._group_loop(step, sink)
        until = step.until_condition
        ignore = _unless(until, self._inner_ignore(step))
        take = _unless(until, self._take(step))
        state = self._own_state()
        if step.quantifier.greedy:
            if until is not None:
                self._before_greedy[sink.name] = self._copy(sink)
            self._proceed(state, sink)
            _leave_to_greedy(sink, self._take(step))
        else:
            state.add(PROCEED, sink, self._true())
        state.add(TAKE, state, take)
        self._stop_loop(state)
        if ignore is not None:
            waiting = self._own_state(takes=False)
            waiting.add(TAKE, state, take)
            waiting.add(IGNORE, waiting, ignore)
            state.add(IGNORE, waiting, ignore)
            self._stop_loop(waiting)
        return state

    # -- groups

    def _group(self, group: GroupPattern[Any], sink: State, proceed: State | None, optional: bool) -> State:
        true = self._true()
        head = self._inside(group, sink)
        if optional:
            assert proceed is not None
            head.add(PROCEED, proceed, true)
        return head

    def _group_loop(self, group: GroupPattern[Any], sink: State) -> State:
        true = self._true()
        again = self._own_state()
        head = self._inside(group, again)
        head.add(PROCEED, sink, true)
        again.add(PROCEED, head, true)
        return head

    def _inside(self, group: GroupPattern[Any], sink: State) -> State:
        outside, self._at = self._at, _Place(group.get_raw_pattern(), self._at.following, group)
        head = self._step(self._steps_before_first(sink))
        self._at = outside
        return head

    def _set_first_of_loop(self, first: bool) -> None:
        if isinstance(self._at.step, GroupPattern):
            self._first_of_loop[id(self._at.step)] = first

    def _in_first_of_loop(self) -> bool:
        return self._first_of_loop.get(id(self._at.group), True)

    def _heads_group(self, step: Pattern[Any]) -> bool:
        return self._at.group is not None and step.previous is None

    def _heads_optional_group(self, step: Pattern[Any]) -> bool:
        group = self._at.group
        return group is not None and self._heads_group(step) and self._in_first_of_loop() and group.quantifier.optional

    # -- events that must not come

    def _nots(self) -> list[tuple[Condition, str]]:
        """Of the not_followed_by before the current step, with nothing but optional steps between."""
        found = []
        before = self._at.step.previous
        while before is not None:
            negative = before.quantifier.strategy is _NOT_FOLLOW
            if not (negative or before.quantifier.optional):
                break
            if negative:
                found.append((self._take(before), before.name))
            before = before.previous
        return found

    def _add_stops(self, state: State) -> None:
        for condition, name in self._nots():
            state.add(PROCEED, self._stop(condition, name), condition)

    def _stop_loop(self, state: State) -> None:
        following = self._at.following
        if following is not None and following.quantifier.strategy is _NOT_FOLLOW:
            condition = self._take(following)
            state.add(PROCEED, self._stop(condition, following.name), condition)

    def _without_nots(self, sink: State) -> State:
        """Behind an event of an optional step, what must not come before it may come: a copy without those ends."""
        names = {name for _, name in self._nots()}
        if not names or not self._at.step.quantifier.optional:
            return sink
        copy = self._state(sink.name, sink.pattern, sink.kind)
        copy.window = None
        for edge in sink.edges:
            target = edge.target
            if edge.action == PROCEED:
                if target.kind == STOP:
                    if target.name in names:
                        continue
                else:
                    target = self._without_nots(target)
            elif target is sink:
                target = copy
            copy.add(edge.action, target, edge.condition)
        return copy

    def _copy(self, state: State) -> State:
        copy = self._state(state.pattern, state.pattern, state.kind)
        for edge in state.edges:
            copy.add(edge.action, copy if edge.target is state else edge.target, edge.condition)
        return copy

    # -- conditions

    def _take(self, step: Pattern[Any]) -> Any:
        return _unless(self._group_until(), step.get_condition())

    def _true(self) -> Any:
        return _unless(self._group_until(), Always())

    def _ignore(self, step: Pattern[Any]) -> Any:
        strategy = step.quantifier.strategy
        if self._heads_group(step):
            assert self._at.group is not None
            around = self._at.group.quantifier
            strategy = around.strategy if self._in_first_of_loop() else around.inner
        return self._skipping(strategy, step)

    def _inner_ignore(self, step: Pattern[Any]) -> Any:
        strategy = step.quantifier.inner
        if self._heads_group(step):
            assert self._at.group is not None
            strategy = self._at.group.quantifier.inner
        return self._skipping(strategy, step)

    def _skipping(self, strategy: ConsumingStrategy, step: Pattern[Any]) -> Any:
        """Which events may be passed over; None: none."""
        if strategy is ConsumingStrategy.SKIP_TILL_NEXT:
            return _unless(self._group_until(), Not(step.get_condition()))
        if strategy is ConsumingStrategy.SKIP_TILL_ANY:
            return _unless(self._group_until(), Always())
        return None

    def _group_until(self) -> Condition | None:
        return None if self._at.group is None else self._at.group.until_condition


def _unless(until: Condition | None, condition: Any) -> Any:
    """A condition that no longer holds once a loop has been ended; None, which lets nothing pass, stays None."""
    return condition if until is None or condition is None else Both(Not(until), condition)


def _leave_to_greedy(state: State, take: Condition) -> None:
    """What the loop before can take, this state leaves to it."""
    for at, edge in enumerate(state.edges):
        state.edges[at] = Edge(edge.action, edge.source, edge.target, Both(edge.condition, Not(take)))
