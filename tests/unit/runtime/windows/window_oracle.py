"""The expected emissions of windows, computed in the simplest way, without timers, state or columns.

One object per operator. It receives the batches of all splits, computes the watermark of each record, and stores the values
of every window in a dictionary.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.runtime.state.keys import encode_key, key_hash
from penstock.time import MIN_WATERMARK
from tests.unit.runtime.windows.window_driver import Batch, Event, Mark

Span = tuple[int, int]


@dataclass
class Pane:
    """A window of a key: its values, and whether it has yet to fire at its end."""

    values: list[int] = field(default_factory=list)
    waiting: bool = False


@dataclass
class Oracle:
    """`kind` is tumble, slide or session. `sizes` has the size and slide, or the gap. `offset` is that of the grid."""

    kind: str
    sizes: tuple[int, ...]
    lateness: int = 0
    offset: int = 0
    delay: int | None = None
    watermark: int = MIN_WATERMARK
    marks: dict[str, int] = field(default_factory=dict)
    panes: dict[tuple[str, Span], Pane] = field(default_factory=dict)
    out: list[tuple[str, int]] = field(default_factory=list)
    late: int = 0

    def run(self, batch: Batch) -> list[tuple[str, int]]:
        """Returns the emissions of a batch as (text, timestamp), in order."""
        self.out = []
        arrived: list[tuple[int, str, int, Event]] = []
        for split in sorted(batch.splits):
            mark = self.marks.get(split, MIN_WATERMARK)
            for position, event in enumerate(batch.splits[split]):
                if isinstance(event, Mark):
                    mark = max(mark, event.watermark)
                    continue
                arrived.append((mark, split, position, event))
                if self.delay is not None:
                    mark = max(mark, event.timestamp - self.delay - 1)
            self.marks[split] = mark
        end = max(self.watermark, 2**63 - 1 if batch.end else min(self.marks.values(), default=MIN_WATERMARK))
        before = self.watermark
        for effective, _, _, event in sorted((max(before, min(w, end)), s, p, e) for w, s, p, e in arrived):
            self._advance(effective)
            self._element(event)
        self._advance(end)
        return self.out

    def _advance(self, watermark: int) -> None:
        if watermark <= self.watermark:
            return
        self.watermark = watermark
        due = []
        for (key, span), pane in self.panes.items():
            if pane.waiting and span[1] - 1 <= watermark:
                due.append((span[1] - 1, key_hash(encode_key(key)[0]), key, span))
        for _, _, key, span in sorted(due):
            self.panes[key, span].waiting = False
            self._emit(key, span)
        self.panes = {k: p for k, p in self.panes.items() if k[1][1] - 1 + self.lateness > watermark}

    def _element(self, event: Event) -> None:
        added = False
        for span in self._spans(event):
            if span[1] - 1 + self.lateness <= self.watermark:
                continue
            added = True
            pane = self.panes.setdefault((event.key, span), Pane())
            pane.values.append(event.value)
            pane.waiting = span[1] - 1 > self.watermark
            if not pane.waiting:
                self._emit(event.key, span)
        if not added and event.timestamp + self.lateness <= self.watermark:
            self.late += 1
            self.out.append((f"late {event.key}@{event.timestamp}", event.timestamp))

    def _spans(self, event: Event) -> list[Span]:
        time = event.timestamp
        if self.kind == "session":
            return [self._session(event.key, (time, time + self.sizes[0]))]
        size, slide = self.sizes[0], self.sizes[-1]
        starts = range(time - (time - self.offset) % slide, time - size, -slide)
        return [(start, start + size) for start in starts]

    def _session(self, key: str, span: Span) -> Span:
        """Merges all sessions of the key that a new one touches."""
        touching = [s for k, s in self.panes if k == key and s[0] <= span[1] and span[0] <= s[1]]
        if not touching:
            return span
        merged = (min(span[0], *(s[0] for s in touching)), max(span[1], *(s[1] for s in touching)))
        values = [v for s in sorted(touching) for v in self.panes.pop((key, s)).values]
        self.panes[key, merged] = Pane(values, merged[1] - 1 > self.watermark)
        return merged

    def _emit(self, key: str, span: Span) -> None:
        self.out.append((f"{key}[{span[0]},{span[1]})={sum(self.panes[key, span].values)}", span[1] - 1))
