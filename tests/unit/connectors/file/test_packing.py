"""Packing: each piece is in exactly one file, in order, and no file exceeds the size of the policy."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors import FileCompactStrategy, RollingPolicy
from penstock.connectors.file.sink.compaction import CompactionPacking
from penstock.connectors.file.sink.journal import Journal, PendingFile, Piece
from penstock.connectors.file.sink.packing import Packing, RollingPacking, next_due_time, pack_pieces

SIZE, AGE, QUIET = 100, 50, 20
BATCHES = st.lists(
    st.tuples(st.integers(0, 30), st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 130)), max_size=6)),
    max_size=12,
)
Batches = list[tuple[int, list[tuple[str, int]]]]


def run(batches: Batches, packing: Packing) -> tuple[list[Piece], list[PendingFile], Journal, int]:
    """Returns all pieces, the published files, the last journal and the last time."""
    journal, now = Journal(), 0
    pieces: list[Piece] = []
    files: list[PendingFile] = []
    for batch, (passed, sizes) in enumerate(batches):
        now += passed
        came = [Piece(bucket, f"{batch}-{n}", f"part-{batch}-{n}", size) for n, (bucket, size) in enumerate(sizes)]
        waiting = journal.pieces()
        journal = pack_pieces(journal, batch, came, packing, now)
        assert journal.batch == batch
        assert journal.pieces() == waiting | {piece.file for piece in came}
        pieces += came
        files += journal.full
        journal = Journal(journal.batch, journal.open)
    return pieces, files, journal, now


def in_order(parts: list[PendingFile], bucket: str) -> list[Piece]:
    return [piece for part in parts if part.bucket == bucket for piece in part.pieces]


@given(BATCHES)
def test_rolling_packing(batches: Batches) -> None:
    policy = RollingPolicy.default_rolling_policy(SIZE, AGE, QUIET)
    packing = RollingPacking(policy, concatenate=True)
    pieces, files, journal, now = run(batches, packing)
    for bucket in "abc":
        assert in_order([*files, *journal.open], bucket) == [p for p in pieces if p.bucket == bucket]
    for part in (*files, *journal.open):
        assert part.size == sum(p.size for p in part.pieces)
        assert part.size <= SIZE or len(part.pieces) == 1
    assert len({part.bucket for part in journal.open}) == len(journal.open), "one open file for each folder"
    wake = next_due_time(journal, packing)
    assert (wake is None) == (not journal.open)
    assert wake is None or wake > now, "what was due was made visible"
    if wake is not None:
        later = pack_pieces(journal, journal.batch + 1, [], packing, wake)
        assert later.full, "a batch at the time that was named makes a file visible"


@given(BATCHES)
def test_each_piece_of_a_bulk_format_is_a_file(batches: Batches) -> None:
    pieces, files, journal, _ = run(
        batches, RollingPacking(RollingPolicy.on_checkpoint_rolling_policy(), concatenate=False)
    )
    assert [part.pieces for part in files] == [[piece] for piece in pieces]
    assert journal.open == []


@given(BATCHES, st.one_of(st.none(), st.integers(1, 4)), st.one_of(st.none(), st.integers(0, 300)))
def test_compaction_packing(batches: Batches, checkpoints: int | None, size: int | None) -> None:
    strategy = FileCompactStrategy(-1 if size is None else size, -1 if checkpoints is None else checkpoints)
    pieces, files, journal, _ = run(batches, CompactionPacking(strategy))
    for bucket in "abc":
        assert in_order([*files, *journal.open], bucket) == [p for p in pieces if p.bucket == bucket]
    for part in files:
        assert part.batches == checkpoints or (size is not None and part.size >= size)
        without_last = part.size - part.pieces[-1].size
        assert size is None or without_last < size or not without_last
    for part in journal.open:
        assert checkpoints is None or part.batches < checkpoints
        assert size is None or part.size < size
