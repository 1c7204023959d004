"""Functions of the clock and of the session."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions import zones
from penstock.runtime.relational.functions.definition import CallContext, Typing
from penstock.runtime.relational.functions.kernels import Family
from penstock.types.logical.kinds import DATE, STRING, TIME, TIMESTAMP_3, TIMESTAMP_LTZ_3, LogicalType, TimestampType

_family = Family("temporal")
_DAY = 86_400_000


def _niladic(type_: LogicalType):  # type: ignore[no-untyped-def]
    def rule(call: Typing) -> LogicalType:
        if len(call):
            call.refuse("no arguments")
        return type_.with_nullable(False)

    return rule


def _now(call: CallContext) -> pa.Scalar:
    return pa.scalar(call.now(), pa.timestamp("ms", "UTC"))


def _local(call: CallContext) -> pa.Scalar:
    return zones.to_local(_now(call), call.session.zone)


@_family.columns(
    "CURRENT_TIMESTAMP NOW CURRENT_ROW_TIMESTAMP", _niladic(TIMESTAMP_LTZ_3), "the current instant", deterministic=False
)
def current_timestamp(call: CallContext) -> Value:
    return _now(call)


@_family.columns("LOCALTIMESTAMP", _niladic(TIMESTAMP_3), "the current time in the session's zone", deterministic=False)
def localtimestamp(call: CallContext) -> Value:
    return _local(call)


@_family.columns("CURRENT_DATE", _niladic(DATE), "the current day in the session's zone", deterministic=False)
def current_date(call: CallContext) -> Value:
    return pc.cast(_local(call), pa.date32(), safe=False)


@_family.columns(
    "CURRENT_TIME LOCALTIME", _niladic(TIME), "the current time of day in the session's zone", deterministic=False
)
def current_time(call: CallContext) -> Value:
    milliseconds = pc.cast(_local(call), pa.int64()).as_py() % _DAY
    return pa.scalar(milliseconds // 1000 * 1000, pa.int32()).cast(pa.time32("ms"))


@_family.columns(
    "PROCTIME",
    _niladic(TimestampType(3, local=True, attribute="PROCTIME")),
    "the time at which a row is processed",
    deterministic=False,
)
def proctime(call: CallContext) -> Value:
    return _now(call)


@_family.columns("CURRENT_DATABASE", _niladic(STRING), "the name of the current database", deterministic=False)
def current_database(call: CallContext) -> Value:
    return pa.scalar(call.session.database)
