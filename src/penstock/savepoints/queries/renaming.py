"""A savepoint under the uids of the changed query that starts from it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.runtime.relational.evolution.meaning import WATERMARKS
from penstock.savepoints.clocks import read_clocks
from penstock.savepoints.manifest import Manifest, SavedLevel
from penstock.savepoints.parts import UNUSED
from penstock.savepoints.queries.query_match import QueryMatch


def renamed_manifest(manifest: Manifest, match: QueryMatch) -> Manifest:
    """Returns a manifest with the new uids. Operators whose state is not restored have uids that no operator has."""
    operators = {uid: f"{uid}{UNUSED}" for uid in match.unused} | match.operators
    sources = {s.uid: match.sources.get(s.uid, s.uid) for s in manifest.sources}
    taken = set(match.sources.values())
    for saved in manifest.sources:
        of_query = bool(saved.readers) and saved.uid.startswith("sql-")
        if saved.uid not in match.sources and (of_query or saved.uid in taken):
            sources[saved.uid] = f"{saved.uid}{UNUSED}"
    return msgspec.structs.replace(
        manifest,
        operators=[msgspec.structs.replace(o, uid=operators.get(o.uid, o.uid)) for o in manifest.operators],
        sources=[msgspec.structs.replace(s, uid=sources[s.uid]) for s in manifest.sources],
        levels=[_renamed_level(level, operators, sources) for level in manifest.levels],
    )


def _renamed_level(saved: SavedLevel, operators: Mapping[str, str], sources: Mapping[str, str]) -> SavedLevel:
    clocks = read_clocks(saved)
    clocks.streams = {_stream(name, sources): table for name, table in clocks.streams.items()}
    clocks.edges = {operators.get(uid, uid): clock for uid, clock in clocks.edges.items()}
    clocks.watermarks = {operators.get(uid, uid): mark for uid, mark in clocks.watermarks.items()}
    return msgspec.structs.replace(saved, clocks=msgspec.Raw(msgspec.json.encode(clocks)))


def _stream(name: str, sources: Mapping[str, str]) -> str:
    """The name of a stream: that of a source, or of a watermark step with its numbers behind an @."""
    step, at, numbers = name.partition("@")
    if step.endswith(WATERMARKS):
        source = step.removesuffix(WATERMARKS)
        step = f"{sources.get(source, source)}{WATERMARKS}"
    else:
        step = sources.get(step, step)
    return f"{step}{at}{numbers}"
