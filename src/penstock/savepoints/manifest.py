"""What a savepoint says of itself: the job, where its sources stood, its clocks, and the files of its state."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.errors import CheckpointError

FORMAT = 1
NAME = "manifest.json"


class SavedState(msgspec.Struct, omit_defaults=True):
    """One state of an operator: a table of entries, bytes to bytes."""

    name: str
    kind: str  # value, list, map, reducing, aggregating, timers, ...
    schema: str  # what the program wrote it with, as the working copy names it
    type: Any = None  # the same in full, field by field; None: values without a declared type
    ttl: int | None = None  # milliseconds
    entries: int = 0
    size: int = 0  # bytes of keys and values


class SavedOperator(msgspec.Struct, omit_defaults=True):
    """An operator with what it keeps, found again by its uid."""

    uid: str
    name: str
    kind: str
    keyed: bool
    parallelism: int
    states: list[SavedState] = []
    key_type: Any = None
    given_uid: bool = True  # False: the uid was made from the operator's place in the graph


class SavedSource(msgspec.Struct, omit_defaults=True):
    """A source and how far it was read."""

    uid: str
    name: str
    kind: str
    number: int  # in the control source's words
    position: Any = None  # None: it was not read yet, or has no position


class SavedSink(msgspec.Struct, omit_defaults=True):
    """A sink, and what it has to remember (files that are not visible yet, say)."""

    uid: str
    name: str
    kind: str
    memory: Any = None


class SavedLevel(msgspec.Struct, omit_defaults=True):
    """The clocks of a level: a slot's meta without its tables. They are equal in all slots."""

    level: int
    clocks: msgspec.Raw
    broadcast: dict[str, int] = {}  # hashes of broadcast state, by operator


class StateFile(msgspec.Struct, omit_defaults=True):
    """One file of state: blocks, and a footer that says where each of them is."""

    name: str
    size: int
    footer_crc: int
    blocks: int = 0
    entries: int = 0


class Manifest(msgspec.Struct, omit_defaults=True):
    """All of a savepoint but its entries. It is written last: a folder without it is no savepoint."""

    format: int
    id: str
    created: int  # milliseconds since 1970
    penstock: str
    spark: str
    job_id: str
    job_name: str
    batch: int  # the last batch that is in it
    parallelism: int
    max_parallelism: int
    operators: list[SavedOperator]
    sources: list[SavedSource]
    sinks: list[SavedSink]
    levels: list[SavedLevel]
    files: list[StateFile]
    control: Any = None  # the control source's last word
    ended: str = ""  # how the job ended with it: "stop", "drain"; "" when it went on
    lineage: str = ""
    checkpoint: str = ""
    from_savepoint: str = ""  # what the job itself was started from
    notes: dict[str, str] = {}


def encode_manifest(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1)


def decode_manifest(data: bytes, where: str) -> Manifest:
    """Reads a manifest of this format or an earlier one."""
    try:
        form = msgspec.json.decode(data, type=_Form).format
        if form <= FORMAT:
            return msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise damaged(where, f"its {NAME} cannot be understood: {error}") from error
    raise CheckpointError(
        "SAVEPOINT_FORMAT",
        f"The savepoint {where} has format {form}, and this Penstock reads formats up to {FORMAT}. "
        "Restore it with the version that wrote it, or a newer one.",
    )


class _Form(msgspec.Struct):
    format: int


def damaged(where: str, what: str) -> CheckpointError:
    return CheckpointError(
        "SAVEPOINT_DAMAGED",
        f"The savepoint {where} is damaged: {what}. Restore another one; `penstock savepoints verify` finds whole ones.",
    )
