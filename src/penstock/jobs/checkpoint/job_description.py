"""The description of a job in its checkpoint (`penstock/job.json`), and its comparison with the program that resumes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from penstock.atomic_file import write_atomic
from penstock.engine.program.program import Program
from penstock.errors import CheckpointError
from penstock.savepoints.evolution import saved_key_types
from penstock.savepoints.manifest import SavedOperator, SavedSource
from penstock.savepoints.queries.readers import source_readers
from penstock.savepoints.saved_job import SavedJob, saved_relation

FORMAT = 1


class OperatorDescription(msgspec.Struct):
    """An operator of the job. Files of older versions lack the fields with defaults."""

    uid: str
    name: str
    kind: str
    keyed: bool
    level: int | None = None
    parallelism: int | None = None  # None: that of the job
    given_uid: bool = True  # False: the uid was generated
    relation: Any = None  # of an operator of a query: what it means


class SourceDescription(msgspec.Struct):
    """A source of the job."""

    uid: str
    name: str = ""
    kind: str = ""
    readers: list[str] = []  # uids of the operators and sinks that read it


class _Version(msgspec.Struct):
    """The part of a description that all versions have."""

    format: int


class JobDescription(msgspec.Struct):
    """What a checkpoint stores about its job."""

    format: int
    job_id: str
    name: str
    parallelism: int
    max_parallelism: int
    operators: list[OperatorDescription]
    sources: list[SourceDescription]
    levels: int = 0
    key_types: dict[str, Any] | None = None  # by uid; None: written before key types were stored
    lineage: str = ""
    from_savepoint: str = ""
    engine: str = "spark"  # that writes the checkpoint


def describe_program(
    program: Program, job_id: str, lineage: str = "", from_savepoint: str = "", engine: str = "spark"
) -> JobDescription:
    """The description of a job that runs a program."""
    readers = source_readers(program)
    return JobDescription(
        FORMAT,
        job_id,
        program.name,
        program.parallelism,
        program.max_parallelism,
        [
            OperatorDescription(
                o.uid, o.name, o.spec.kind, o.spec.keyed, o.level, o.parallelism, o.named, saved_relation(o.spec)
            )
            for o in program.operators
        ],
        [SourceDescription(s.uid, s.name, type(s.source).__name__, readers[s.uid]) for s in program.sources],
        program.depth,
        saved_key_types(program),
        lineage,
        from_savepoint,
        engine,
    )


# The order of the keys in the file.
_KEYS = ("format", "job_id", "name", "parallelism", "max_parallelism", "levels", "operators", "key_types", "sources")


def write_job_description(folder: str, description: JobDescription) -> None:
    """Writes the description atomically, so that a process that is killed meanwhile leaves no partial file."""
    stored: dict[str, Any] = msgspec.to_builtins(description)
    ordered = {key: stored.pop(key) for key in _KEYS} | stored
    write_atomic(_file(folder), json.dumps(ordered, indent=1).encode(), durable=False)


def has_job_description(folder: str) -> bool:
    """Whether a folder contains the checkpoint of a job."""
    return _file(folder).exists()


def read_job_description(folder: str) -> JobDescription:
    """The description in a checkpoint folder.

    Raises:
        CheckpointError: the folder is not a checkpoint, or its description cannot be read.
    """
    try:
        data = _file(folder).read_bytes()
        version = msgspec.json.decode(data, type=_Version).format
        if version > FORMAT:
            raise CheckpointError(
                "CHECKPOINT_FORMAT",
                f"{_file(folder)} has format {version}, and this version of Penstock reads formats up to {FORMAT}. A newer "
                "version wrote it. Resume the job with that version.",
            )
        return msgspec.json.decode(data, type=JobDescription)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CheckpointError(
            "NO_CHECKPOINT",
            f"{folder} holds no checkpoint of a Penstock job (penstock/job.json cannot be read). "
            "Give the folder that the job printed.",
        ) from error
    except OSError as error:
        raise CheckpointError(
            "CHECKPOINT_UNREADABLE",
            f"The checkpoint {folder} exists, but {_file(folder)} cannot be read: {error}. Run the job as the user "
            "who owns it, or grant this user the permission to read and write it.",
        ) from error
    except (ValueError, msgspec.MsgspecError) as error:
        raise CheckpointError(
            "CHECKPOINT_DAMAGED",
            f"{_file(folder)} is damaged and cannot be decoded ({type(error).__name__}: {error}). Restore the file from a backup, "
            "or start the job from a savepoint with --from-savepoint. Without them, start it without --resume: it begins with "
            "empty state.",
        ) from error


def _file(folder: str) -> Path:
    return Path(folder, "penstock", "job.json")


def find_differences(saved: JobDescription, current: JobDescription) -> list[str]:
    """Messages about each change of the program that prevents it from resuming the checkpoint."""
    differences = []
    for name in ("parallelism", "max_parallelism"):
        before, now = getattr(saved, name), getattr(current, name)
        if before != now:
            differences.append(f"{name} was {before} and is now {now}")
    differences += _part_differences("operator", saved.operators, current.operators, ("kind", "keyed", "level"))
    return differences + _part_differences("source", saved.sources, current.sources, ("kind",))


def _part_differences(
    part: str,
    saved: list[OperatorDescription] | list[SourceDescription],
    current: list[OperatorDescription] | list[SourceDescription],
    fields: tuple[str, ...],
) -> list[str]:
    before: dict[str, Any] = {p.uid: p for p in saved}
    now: dict[str, Any] = {p.uid: p for p in current}
    differences = [f"{part} '{uid}' is gone" for uid in before if uid not in now]
    differences += [f"{part} '{uid}' is new" for uid in now if uid not in before]
    for uid in before.keys() & now.keys():
        for field in fields:
            old, new = getattr(before[uid], field), getattr(now[uid], field)
            if old != new:
                differences.append(f"{part} '{uid}' had {field} {old} and now has {new}")
    return differences


def saved_job(job: JobDescription, offsets: list[Any]) -> SavedJob:
    """Describes the job of a checkpoint for the manifest of a savepoint."""
    key_types = job.key_types or {}
    operators = [
        SavedOperator(
            o.uid,
            o.name,
            o.kind,
            o.keyed,
            o.parallelism or job.parallelism,
            key_type=key_types.get(o.uid),
            relation=o.relation,
        )
        for o in job.operators
    ]
    sources = [
        SavedSource(s.uid, s.name or s.uid, s.kind, number, offset, s.readers)
        for number, (s, offset) in enumerate(zip(job.sources, offsets, strict=False))
    ]
    return SavedJob(job.name, job.parallelism, job.max_parallelism, operators, sources, [])
