"""The manifest of a savepoint: the job, the positions of its sources, its clocks, and the list of its state files."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.errors import CheckpointError

FORMAT = 1
MANIFEST_FILE = "manifest.json"


class SavedState(msgspec.Struct, omit_defaults=True):
    """A state of an operator: a table of entries with keys and values in bytes."""

    name: str
    kind: str  # value, list, map, reducing, aggregating, timers, ...
    schema: str  # the name of the encoding of its values
    type: Any = None  # the type of its values with all fields; None: no type was declared
    ttl: int | None = None  # milliseconds; None: entries do not expire
    entries: int = 0
    size: int = 0  # bytes of keys and values


class SavedOperator(msgspec.Struct, omit_defaults=True):
    """An operator and its states. A restored job looks it up by its uid."""

    uid: str
    name: str
    kind: str
    keyed: bool
    parallelism: int
    states: list[SavedState] = []
    key_type: Any = None  # the declared type of its keys
    given_uid: bool = True  # False: the uid was generated from the position of the operator in the graph
    relation: Any = None  # of an operator of a query: what it means (runtime/relational/evolution/meaning.py)


class SavedSource(msgspec.Struct, omit_defaults=True):
    """A source and its position."""

    uid: str
    name: str
    kind: str
    number: int  # identifies the source in `Manifest.control`
    position: Any = None  # None: it was not read yet, or has no position
    readers: list[str] = []  # uids of the operators and sinks that read it


class SavedSink(msgspec.Struct, omit_defaults=True):
    """A sink and the data that it stores between batches, such as a list of pending files."""

    uid: str
    name: str
    kind: str
    memory: Any = None


class SavedLevel(msgspec.Struct, omit_defaults=True):
    """The clocks of a level: the metadata of a slot without its tables. They are the same in all slots."""

    level: int
    clocks: msgspec.Raw
    broadcast: dict[str, int] = {}  # hashes of broadcast state, by operator


class StateFile(msgspec.Struct, omit_defaults=True):
    """A state file: blocks, and a footer with their positions."""

    name: str
    size: int
    footer_crc: int
    blocks: int = 0
    entries: int = 0


class SinkFile(msgspec.Struct):
    """A file of a sink: output that was not visible yet when the savepoint was taken."""

    name: str  # starts with `SINK_FILE`
    size: int


class Manifest(msgspec.Struct, omit_defaults=True):
    """All of a savepoint except its entries. It is written last, so a folder without a manifest is not a savepoint."""

    format: int
    id: str
    created: int  # milliseconds since 1970
    penstock: str
    spark: str
    job_id: str
    job_name: str
    batch: int  # the last batch in the savepoint
    parallelism: int
    max_parallelism: int
    operators: list[SavedOperator]
    sources: list[SavedSource]
    sinks: list[SavedSink]
    levels: list[SavedLevel]
    files: list[StateFile]
    control: Any = None  # the last offset of the control source
    ended: str = ""  # how the job ended: "stop" or "drain"; empty if it continued
    lineage: str = ""  # of the checkpoint; see `Checkpoint.lineage`
    checkpoint: str = ""
    from_savepoint: str = ""  # the savepoint that the job was started from
    notes: dict[str, str] = {}
    sink_files: list[SinkFile] = []


def encode_manifest(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1)


def decode_manifest(data: bytes, where: str) -> Manifest:
    """Decodes a manifest of this format version or an earlier one."""
    try:
        version = msgspec.json.decode(data, type=_FormatVersion).format
        if version <= FORMAT:
            return msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise damaged_error(where, f"its {MANIFEST_FILE} cannot be decoded: {error}") from error
    raise CheckpointError(
        "SAVEPOINT_FORMAT",
        f"The savepoint {where} has format {version}, and this Penstock reads formats up to {FORMAT}. "
        "Restore it with the version that wrote it, or a newer one.",
    )


class _FormatVersion(msgspec.Struct):
    format: int


def damaged_error(where: str, what: str) -> CheckpointError:
    return CheckpointError(
        "SAVEPOINT_DAMAGED",
        f"The savepoint {where} is damaged: {what}. Restore another one. `penstock savepoints verify` finds intact ones.",
    )
