"""Hypothesis strategies for programs, inputs and runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from tests.system.invariance import program as p
from tests.system.invariance.build import side_outputs
from tests.system.invariance.patterns import SKIPS_TO_STEP
from tests.system.invariance.payloads import PAYLOADS
from tests.system.invariance.properties import CLOCK_TRIGGERS, assigner_uses_clock, clock_cuts, uses_idleness

# After all event times. Clocks end with 5, timers and windows do not, so none is due when it is registered (time-rules 3.6).
FIRST_CLOCK = 1_000_005
LATER = 1000  # between files that may be found later and those before them
SLOTS = 8  # timestamps of different splits are different modulo this number, where the order of equal ones would matter

keys_by = st.sampled_from(("key", "number", "pair"))
booleans = st.booleans()
fails = st.sampled_from((0, 0, 0, 4))


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def rarely(value: st.SearchStrategy[Any], otherwise: Any) -> st.SearchStrategy[Any]:
    return st.one_of(st.just(otherwise), st.just(otherwise), value)


# -- states, timers and windows


states = st.builds(
    p.StateSpec,
    kind=one_of("value", "list", "map", "reducing", "aggregating"),
    payload=one_of(*PAYLOADS),
    declared=booleans,
    ttl=rarely(one_of(20, 100), 0),
    ttl_on_read=booleans,
)
plain_states = st.builds(
    p.StateSpec,
    kind=one_of("value", "list", "map", "reducing", "aggregating"),
    payload=one_of(*PAYLOADS),
    declared=booleans,
    ttl=st.just(0),
    ttl_on_read=booleans,
)
event_timers = st.builds(
    p.TimerSpec, domain=st.just("event"), after=one_of(3, 10, 25), until=one_of(0, 60), delete=booleans
) | st.builds(p.TimerSpec, domain=st.just("event"), after=one_of(-5, 0))
clock_timers = st.builds(
    p.TimerSpec,
    domain=st.just("processing"),
    after=one_of(15, 45, 505),
    until=one_of(0, FIRST_CLOCK + 100),
    delete=booleans,
)
event_assigners = (
    st.builds(p.Tumbling, size=one_of(10, 25, 40), offset=one_of(0, 3))
    | st.builds(p.Sliding, size=one_of(10, 25), slide=one_of(5, 10))
    | st.builds(p.Session, gap=one_of(3, 8, 20), time=st.just("event"), dynamic=booleans)
)
clock_assigners = (
    st.builds(p.Tumbling, size=one_of(10, 50), time=st.just("processing"))
    | st.builds(p.Sliding, size=one_of(50, 100), slide=one_of(10, 50), time=st.just("processing"))
    | st.builds(p.Session, gap=one_of(15, 100), time=st.just("processing"), dynamic=booleans)
)
counted = st.builds(p.Counted, size=one_of(1, 2, 3), slide=one_of(0, 1, 2))
evictors = st.builds(p.EvictorSpec, kind=one_of("count", "time", "delta"), length=one_of(2, 4, 10), after=booleans)
triggers = st.builds(
    p.TriggerSpec,
    kind=one_of("event", "count", "delta", "continuous event", "continuous processing", "early", "timeout", "end"),
    length=one_of(1, 2, 5),
    purging=booleans,
)


@st.composite
def windows(draw: Any, timed: bool) -> p.Window:
    """A window of any kind. Without timestamps: in processing time, counted or global."""
    kinds = [clock_assigners, counted, st.just(p.Global())] + [event_assigners] * (3 * timed)
    assigner = draw(st.one_of(*kinds))
    trigger = draw(_trigger_for(assigner))
    function = draw(one_of("process", "reduce", "aggregate", "apply", "named", "sum"))
    if function == "named" and isinstance(
        assigner, (p.Counted, p.Global)
    ):  # named aggregates need windows with a start and an end
        function = "process"
    evictor = draw(rarely(evictors, None)) if function not in ("named", "sum") else None
    by_event = isinstance(assigner, (p.Tumbling, p.Sliding, p.Session)) and not assigner_uses_clock(assigner)
    return p.Window(
        assigner,
        by=draw(rarely(st.none(), "key")) if not draw(booleans) else draw(one_of("number", "pair")),
        trigger=trigger,
        evictor=evictor,
        lateness=draw(one_of(0, 0, 4, 20)) if by_event else 0,
        late_output=draw(booleans) if by_event else False,
        function=function,
        states=tuple(draw(st.lists(states, max_size=1))) if function in ("process", "aggregate") else (),
        fails=draw(fails) if function not in ("named", "sum") else 0,
        window_state=draw(booleans) if function == "process" and not isinstance(assigner, p.Session) else False,
    )


@st.composite
def _trigger_for(draw: Any, assigner: p.Assigner) -> p.TriggerSpec | None:
    """A trigger that fits the windows. Intervals in processing time are multiples of 10."""
    if isinstance(assigner, p.Counted):
        return None
    if isinstance(assigner, p.Global):
        trigger: p.TriggerSpec | None = draw(triggers.filter(lambda t: t.kind in ("count", "delta", "timeout", "end")))
    elif assigner_uses_clock(assigner):
        trigger = draw(rarely(triggers.filter(lambda t: t.kind in ("count", "continuous processing", "timeout")), None))
    else:
        trigger = draw(rarely(triggers, None))
    if trigger is None:
        return None
    if isinstance(assigner, p.Session) and trigger.kind in ("delta", "timeout", "end"):
        return None  # cannot merge
    if trigger.kind in CLOCK_TRIGGERS:
        return p.TriggerSpec(trigger.kind, trigger.length * 20, trigger.purging)
    return p.TriggerSpec(trigger.kind, trigger.length * 4, trigger.purging) if "event" in trigger.kind else trigger


@st.composite
def commutative_windows(draw: Any) -> p.Window:
    """Windows whose results do not depend on the order of their elements."""
    function = draw(one_of("process", "reduce", "aggregate", "apply", "named", "sum"))
    return p.Window(
        draw(event_assigners),
        by=draw(one_of("key", "number", None)),
        trigger=draw(rarely(st.builds(p.TriggerSpec, kind=st.just("event"), purging=booleans), None)),
        evictor=draw(rarely(st.just(p.EvictorSpec("time", 10)), None)) if function not in ("named", "sum") else None,
        lateness=draw(one_of(0, 0, 4, 20)),
        late_output=draw(booleans),
        function=function,
        states=tuple(draw(st.lists(plain_states, max_size=1))) if function == "process" else (),
        fails=draw(fails) if function not in ("named", "sum") else 0,
    )


# -- patterns


_LOOPS = ("one_or_more", "greedy", "consecutive", "times_or_more", "any number")
_QUANTIFIERS = (*_LOOPS, "optional", "times", "times from to", "greedy times", "combinations")
_OPTIONAL, _GREEDY = ("optional", "any number"), ("greedy", "greedy times")


@st.composite
def matches(draw: Any, timed: bool, ordered: bool) -> p.Match:
    within = draw(one_of(0, 0, 10, 30))
    steps = [p.PatternStep("followed_by", draw(one_of(0, 1)), draw(one_of("one", "one", "one_or_more", "times")))]
    for _ in range(draw(st.integers(1, 2))):
        strategy = draw(one_of("followed_by", "next", "followed_by_any", "not_next", "not_followed_by"))
        quantifier = draw(one_of(*("one",) * 3, *_QUANTIFIERS))
        remainder = draw(one_of(0, 1, 2, None))
        if quantifier in _OPTIONAL and steps[-1].quantifier in _GREEDY:
            quantifier = "one"  # the end of the greedy step would be ambiguous
        if strategy.startswith("not"):
            quantifier = "one"
            if steps[-1].quantifier in _OPTIONAL:
                strategy = "followed_by"  # a negative step after an optional one is not defined
        until = draw(rarely(one_of(0, 1, 2), None)) if quantifier in _LOOPS else None
        step_within = draw(rarely(one_of(4, 10), 0)) if quantifier == "one" and within != 0 else 0
        steps.append(p.PatternStep(strategy, remainder, quantifier, until, step_within, draw(rarely(booleans, False))))
    if steps[-1].strategy.startswith("not") and not (steps[-1].strategy == "not_followed_by" and within):
        steps.append(p.PatternStep("followed_by", 2))
    group = draw(rarely(one_of("times", "optional", "one_or_more"), "none"))
    if any(step.strategy.startswith("not") for step in steps) or (
        group == "optional" and steps[0].quantifier in _GREEDY
    ):
        group = "none"
    if group == "one_or_more" and all(step.quantifier in _OPTIONAL for step in steps[1:]):
        group = "none"  # it could be repeated without an event
    skip = draw(one_of("no_skip", "skip_to_next", "skip_past_last_event", "skip_to_first", "skip_to_last"))
    time: p.Times = "event" if timed and (not ordered or draw(one_of(True, True, False))) else "processing"
    failing = draw(fails)
    condition_fails = draw(booleans) if failing else False
    return p.Match(
        tuple(steps),
        by=draw(one_of("key", "number", "key", None)),
        within=within,
        skip=skip,
        skip_to=draw(st.integers(0, len(steps) - 1)) if skip in SKIPS_TO_STEP else 0,
        group=group,
        time=time,
        late_output=draw(booleans) if time == "event" and not condition_fails else False,
        timeouts=draw(booleans) if within else False,
        fails=failing,
        condition_fails=condition_fails,
    )


# -- stages


@dataclass
class Stream:
    """What is known about a stream of the generated program."""

    timed: bool = True  # elements have timestamps
    unique: bool = True  # the timestamps are different
    per_split: bool = True  # elements with the same key are of the same split, in its order
    side: tuple[str, ...] = ()
    is_source: bool = False


_SIMPLE = (
    "map",
    "filter",
    "flat_map",
    "async",
    "separate",
    *("partition",) * 2,
    "union",
    "side",
    "co_map",
    "co_process",
)
_ORDERED = (
    *("process",) * 6,
    *("window",) * 5,
    *("connect",) * 2,
    *("match",) * 2,
    "keyed_map",
    "keyed_co_map",
    "reduce",
    "buffer",
    "interval_join",
    "window_join",
    "co_group",
    "broadcast",
)
_COMMUTATIVE = (
    *("window",) * 4,
    *("buffer",) * 2,
    *("match",) * 2,
    "interval_join",
    "window_join",
    "co_group",
    "keyed",
)


@st.composite
def stages(draw: Any, sources: tuple[p.SourceSpec, ...], promise: str, disjoint: bool) -> tuple[p.Stage, ...]:
    """Stages whose inputs are sources or results of earlier stages."""
    streams = [
        Stream(unique=promise != "multisets" or source.watermarks != p.Ingestion(), per_split=disjoint, is_source=True)
        for source in sources
    ]
    found: list[p.Stage] = []
    heavy = _COMMUTATIVE if promise == "multisets" else _ORDERED
    simple = (*_SIMPLE, "assign") if promise == "batches" else _SIMPLE
    for number in range(draw(st.integers(1, 4))):
        kind = draw(one_of(*heavy)) if number == 0 or draw(one_of(True, True, False)) else draw(one_of(*simple))
        stage, stream = draw(_stage(kind, streams, promise))
        found.append(stage)
        streams.append(stream)
    return tuple(found)


@st.composite
def _stage(draw: Any, kind: str, streams: list[Stream], promise: str) -> tuple[p.Stage, Stream]:
    at = draw(st.integers(0, len(streams) - 1)) if draw(one_of(False, True)) else len(streams) - 1
    other = draw(st.integers(0, len(streams) - 1))
    source, second = streams[at], streams[other]
    ordered = promise != "multisets"
    operation = draw(_operation(kind, source, second, ordered))
    if isinstance(operation, p.Broadcast) and not (at != other and source.is_source and second.is_source):
        # Without keys, the order between the results of both sides for the same record is not defined.
        operation = replace(operation, by=operation.by or "key")
    two_inputs = isinstance(
        operation,
        (
            *(p.Union, p.CoMap, p.CoProcess, p.KeyedCoMap, p.Connect),
            *(p.IntervalJoin, p.WindowJoin, p.CoGroup, p.Broadcast),
        ),
    )
    stage = p.Stage(operation, (at, other) if two_inputs else (at,))
    return stage, _result(operation, [source, second] if two_inputs else [source])


def _result(operation: p.Operation, inputs: list[Stream]) -> Stream:
    timed = all(stream.timed for stream in inputs)
    same = isinstance(operation, (p.Map, p.Filter, p.Async, p.Separate, p.Side, p.Partition))
    if any(timer.domain == "processing" for timer in getattr(operation, "timers", ())):
        timed = False
    match operation:
        case p.Window(assigner) | p.CoGroup(assigner) | p.WindowJoin(assigner):
            timed = (
                timed and isinstance(assigner, (p.Tumbling, p.Sliding, p.Session)) and not assigner_uses_clock(assigner)
            )
        case p.Match(time="processing"):
            timed = False
    if isinstance(operation, (p.Window, p.CoGroup)) and operation.trigger is not None:
        timed = timed and operation.trigger.kind not in CLOCK_TRIGGERS
    keeps_split = same or isinstance(operation, (p.FlatMap, p.Process, p.KeyedMap, p.Reduce))
    return Stream(
        timed,
        unique=inputs[0].unique and same,
        per_split=inputs[0].per_split and keeps_split and getattr(operation, "by", "key") == "key",
        side=tuple(side_outputs(operation)),
    )


@st.composite
def _operation(draw: Any, kind: str, stream: Stream, second: Stream, ordered: bool) -> Any:
    both_timed = stream.timed and second.timed
    timers = st.lists(event_timers | clock_timers if stream.timed else clock_timers, max_size=2).map(tuple)
    some_states = st.lists(states, max_size=2).map(tuple)
    failing = draw(fails)
    match kind:
        case "assign" if stream.timed:
            return p.Assign(draw(one_of(0, 5)))
        case "map":
            return p.Map(draw(one_of(1, 2)), failing, draw(booleans))
        case "filter":
            return p.Filter(draw(one_of(0, 1)), draw(booleans))
        case "flat_map":
            return p.FlatMap()
        case "async":
            return p.Async(draw(booleans), failing, draw(one_of(0, 1, 2)), draw(booleans) or not failing)
        case "separate":
            return p.Separate()
        case "partition" if not ordered or stream.unique:  # else the order of results of one element is not defined
            partition = draw(one_of("rebalance", "rescale", "shuffle", "global_", "materialize", *("custom",) * 3))
            return p.Partition(partition, failing if partition == "custom" else 0)
        case "union":
            return p.Union()
        case "co_map":
            return p.CoMap(draw(booleans))
        case "co_process":
            return p.CoProcess(draw(booleans), failing)
        case "keyed_map":
            how = draw(one_of("map", "flat_map", "filter"))
            return p.KeyedMap(how, draw(keys_by), draw(some_states), failing)
        case "keyed_co_map":
            return p.KeyedCoMap(draw(booleans), draw(keys_by), draw(some_states), failing)
        case "side" if stream.side:
            return p.Side(draw(one_of(*stream.side)))
        case "process":
            return p.Process(draw(keys_by), draw(some_states), draw(timers), failing, draw(booleans), draw(booleans))
        case "keyed" if stream.per_split and draw(booleans):
            return p.Process("key", draw(st.lists(plain_states, min_size=1, max_size=2).map(tuple)), (), failing)
        case "keyed" if stream.per_split:
            if draw(booleans):
                return p.KeyedMap(draw(one_of("map", "filter")), "key", draw(st.tuples(plain_states)), failing)
            return p.Reduce("key", draw(one_of("reduce", "sum", "min", "max", "min_by", "max_by")))
        case "reduce":
            return p.Reduce(draw(keys_by), draw(one_of("reduce", "sum", "min", "max", "min_by", "max_by")))
        case "buffer" if stream.timed:
            return p.Buffer(draw(keys_by), draw(one_of("list", "map")), draw(one_of(20, 80)))
        case "window" if ordered:
            return draw(windows(stream.timed))
        case "match" if ordered or stream.unique:
            return draw(matches(stream.timed, ordered))
        case "connect":
            both = timers if both_timed else st.lists(clock_timers, max_size=2).map(tuple)
            return p.Connect(draw(keys_by), draw(some_states), draw(both), failing)
        case "interval_join" if both_timed:
            lower = draw(one_of(-20, -5, 0))
            bounds = lower, lower + draw(one_of(0, 5, 20))
            exclusive = draw(booleans) and bounds[1] > lower + 1
            # The dead letter of a pair is the element that arrives last, which depends on the order between splits.
            return p.IntervalJoin(*bounds, draw(keys_by), exclusive, draw(booleans), failing if ordered else 0)
        case "window_join" if both_timed:
            return p.WindowJoin(draw(event_assigners), draw(keys_by), draw(one_of(0, 4)), draw(booleans))
        case "co_group" if both_timed:
            trigger = draw(rarely(st.just(p.TriggerSpec("count", 2)), None)) if ordered else None
            evictor = draw(rarely(evictors.filter(lambda e: e.kind != "delta"), None)) if ordered else None
            return p.CoGroup(draw(event_assigners), draw(keys_by), trigger, evictor, draw(one_of(0, 4)), failing)
        case "broadcast":
            by = draw(one_of("key", "number", None))
            payload, declared = draw(one_of(*PAYLOADS)), draw(booleans)
            if by is None:
                return p.Broadcast(None, payload, declared)
            return p.Broadcast(by, payload, declared, draw(some_states), draw(timers), draw(booleans), failing)
    if stream.timed and not ordered:
        return draw(commutative_windows())
    return p.Map()


# -- programs


@st.composite
def sources_and_promise(draw: Any, may_read: bool = False) -> tuple[tuple[p.SourceSpec, ...], str]:
    """The sources of a program, and which results of it must be equal."""
    promise = draw(one_of("sequences", "sequences", "multisets", "batches"))
    if may_read and promise != "batches" and draw(one_of(False, False, False, True)):
        return draw(_reading_sources(promise)), promise
    if promise == "sequences":
        return (p.SourceSpec(("s0",), draw(_watermarks())),), promise
    counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    if promise == "batches":
        watermarks, idle = _watermarks(), draw(rarely(st.just(30), 0))
    else:
        ingestion = st.just(p.Ingestion())
        watermarks, idle = st.just(p.Monotonous()) | st.builds(p.Bounded, one_of(8, 30)) | ingestion, 0
    return tuple(
        p.SourceSpec(tuple(f"s{n}" for n in range(count)), draw(watermarks), idle) for count in counts
    ), promise


@st.composite
def _reading_sources(draw: Any, promise: str) -> tuple[p.SourceSpec, ...]:
    """Sources that are read. Files in order are one split in event time, so that records may also be late."""
    names = tuple(f"s{n}" for n in range(draw(st.integers(1, 3))))
    later = draw(st.integers(0, len(names)))
    if promise == "sequences":
        return (p.SourceSpec(names, draw(_watermarks(pushed=False)), reads="files in order", later=later),)
    # A source that waits for its next file would pause the others.
    drift = 0 if later else draw(one_of(0, 1, 20))
    watermarks = st.just(p.Monotonous()) | st.builds(p.Bounded, one_of(8, 30))
    reads = st.lists(one_of("files", "splits"), min_size=1, max_size=2)
    return tuple(
        p.SourceSpec(names, draw(watermarks), reads=kind, drift=drift, later=later if kind == "files" else 0)
        for kind in draw(reads)
    )


@st.composite
def programs(draw: Any) -> tuple[p.Program, bool]:
    """A program, and whether its input must have disjoint keys per split."""
    sources, promise = draw(sources_and_promise(may_read=True))
    disjoint = promise == "multisets" and draw(booleans)
    changes = draw(rarely(booleans, False))
    return p.Program(sources, draw(stages(sources, promise, disjoint)), promise, changes), disjoint


def _watermarks(pushed: bool = True) -> st.SearchStrategy[p.Watermarks]:
    others = [p.Explicit(), p.Ingestion()] if pushed else []
    return st.one_of(st.builds(p.Bounded, one_of(2, 10)), one_of(p.Monotonous(), p.Punctuated(), *others))


# -- input


@st.composite
def inputs(
    draw: Any, program: p.Program, disjoint: bool, size: int, smallest: int = 1, ends: bool = True
) -> tuple[p.Item, ...]:
    """Elements of all splits. For multisets no element is late in its own split, and all timestamps are different."""
    splits = [(number, split) for number, source in enumerate(program.sources) for split in source.splits]
    ahead = {  # the highest time of each split
        (number, split): source.age(file) * LATER if program.promise == "multisets" else 0
        for number, source in enumerate(program.sources)
        for file, split in enumerate(source.splits)
    }
    clock = FIRST_CLOCK
    items: list[p.Item] = []
    for step in draw(st.lists(st.tuples(*_STEP), min_size=smallest, max_size=size)):
        choice, key, number, ahead_by, behind_by, clock_by, mark = step
        source, split = at = splits[choice % len(splits)]
        clock += clock_by
        ahead[at] += ahead_by
        watermarks = program.sources[source].watermarks
        if program.promise == "multisets":
            name = f"{source}{split}{key}" if disjoint else key
            allowed = watermarks.delay // SLOTS - 1 if isinstance(watermarks, p.Bounded) else 0
            time = (ahead[at] - min(behind_by, max(allowed, 0))) * SLOTS + splits.index(at)
            items.append(p.Item(name, number, time, split, source, clock))
            ahead[at] += 1
        elif mark and isinstance(watermarks, p.Explicit):
            items.append(p.Item(None, 0, ahead[at] - behind_by, split, source, clock))
        else:
            items.append(p.Item(key, number, ahead[at] - behind_by, split, source, clock))
    if ends and program.promise != "sequences" and not program.reads:
        _end_splits(draw, items)
    return tuple(items)


def _end_splits(draw: Any, items: list[p.Item]) -> None:
    """Ends a split after its last element."""
    if items and draw(one_of(False, False, True)):
        number = draw(st.integers(0, len(items) - 1))
        source, split = items[number].source, items[number].split
        last = max(n for n, item in enumerate(items) if (item.source, item.split) == (source, split))
        items.insert(last + 1, p.Item(None, 0, None, split, source, items[last].clock))


_STEP = (
    st.integers(0, 5),  # split
    st.sampled_from("abc"),
    st.integers(0, 20),
    st.integers(0, 6),  # time since the last element of the split
    one_of(0, 0, 0, 1, 4, 12),  # time behind
    one_of(0, 0, 0, 10, 50, 1000),  # processing time since the last element
    one_of(False, False, True),  # a watermark instead
)


# -- runs


@st.composite
def runs(draw: Any, program: p.Program, items: tuple[p.Item, ...]) -> tuple[p.Run, ...]:
    """One batch, one element per batch, and random batches without and with restores and another parallelism."""
    if program.reads:
        reading: tuple[p.Run, ...] = draw(_reading_runs(program.later))
        return reading
    needed = clock_cuts(program, items)
    whole, single = tuple(sorted(needed)), tuple(range(1, len(items)))
    drawn = draw(st.sets(st.integers(1, len(items) - 1), max_size=5)) if len(items) > 1 else set()
    cuts = tuple(sorted(needed | drawn))
    batches, seed, ends = len(cuts) + 1, draw(st.integers(0, 3)), draw(booleans)
    some_batches = st.lists(st.integers(0, batches - 1), max_size=2, unique=True)
    restores = tuple(sorted(draw(some_batches)))
    rescales = tuple(p.Rescale(batch, draw(st.integers(1, 3))) for batch in sorted(draw(some_batches)))
    if uses_idleness(program):  # a new run starts idleness again (time-rules 2.7)
        restores, rescales = (), ()
    crashes = tuple(sorted(draw(some_batches)))
    return (
        p.Run(whole, ends_with_input=ends),
        p.Run(single, parallelism=2, seed=seed),
        p.Run(cuts, crashes=crashes, parallelism=draw(st.integers(1, 2)), ends_with_input=ends),
        p.Run(
            cuts, restores, parallelism=draw(st.integers(1, 3)), seed=seed, cached=draw(booleans), ends_with_input=ends
        ),
        p.Run(cuts, (), rescales, parallelism=2, seed=seed, ends_with_input=ends),
    )


@st.composite
def _reading_runs(draw: Any, later: int) -> tuple[p.Run, ...]:
    """One batch, one record of each split per batch, and several without and with restores and another parallelism.

    In the second and in the last two, files are found later.
    """
    batches = st.lists(st.integers(0, 8), min_size=later, max_size=later).map(sorted).map(tuple)
    found = draw(batches)
    some_batches = st.lists(st.integers(0, 4), max_size=2, unique=True)
    rescales = tuple(p.Rescale(batch, draw(st.integers(1, 3))) for batch in sorted(draw(some_batches)))
    restores, size = tuple(sorted(draw(some_batches))), draw(st.integers(1, 4))
    return (
        p.Run(),
        p.Run(per_batch=1, parallelism=2, seed=draw(st.integers(0, 3)), found=draw(batches)),
        p.Run(per_batch=size, found=draw(one_of((), found))),
        p.Run((), restores, parallelism=2, per_batch=size, cached=draw(booleans), found=found),
        p.Run((), (), rescales, parallelism=2, per_batch=size, found=found),
    )


@st.composite
def examples(draw: Any, size: int = 16) -> p.Example:
    program, disjoint = draw(programs())
    items = draw(inputs(program, disjoint, size))
    return p.Example(program, items, draw(runs(program, items)))
