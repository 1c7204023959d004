"""ALTER TABLE and ALTER MATERIALIZED TABLE: one class per action.

`materialized` is ALTER MATERIALIZED TABLE, whose kinds have other names.
"""

from __future__ import annotations

from typing import ClassVar

from penstock.table.dialect.statements.column import ColumnPlace, Constraint, Distribution, Watermark
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.statement import ObjectName, PartitionValue, SqlOption, Statement


class AlterTable(Statement, frozen=True):
    """What all actions have."""

    action: ClassVar[str] = ""

    name: ObjectName
    if_exists: bool = False
    materialized: bool = False

    def statement_kind(self) -> str:
        return f"Alter{'Materialized' if self.materialized else ''}Table{self.action}"


class RenameTable(AlterTable, frozen=True, kw_only=True):
    """RENAME TO new."""

    action: ClassVar[str] = "Rename"
    new_name: ObjectName


class RenameColumn(AlterTable, frozen=True, kw_only=True):
    """RENAME a TO b."""

    action: ClassVar[str] = "RenameColumn"
    column: tuple[str, ...]
    new_column: tuple[str, ...]


class SetTableOptions(AlterTable, frozen=True, kw_only=True):
    """SET ('k' = 'v')."""

    action: ClassVar[str] = "Options"
    options: tuple[SqlOption, ...]


class ResetTableOptions(AlterTable, frozen=True, kw_only=True):
    """RESET ('k')."""

    action: ClassVar[str] = "Reset"
    keys: tuple[str, ...]


class AddToTable(AlterTable, frozen=True):
    """ADD (columns, constraints, watermark)."""

    action: ClassVar[str] = "Add"
    columns: tuple[ColumnPlace, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    watermark: Watermark | None = None

    def statement_kind(self) -> str:
        return f"{super().statement_kind()}Schema" if self.materialized else super().statement_kind()


class ModifyTable(AddToTable, frozen=True):
    """MODIFY (columns, constraints, watermark)."""

    action: ClassVar[str] = "Modify"


class AddDistribution(AlterTable, frozen=True, kw_only=True):
    """ADD DISTRIBUTION BY (a) INTO 4 BUCKETS."""

    action: ClassVar[str] = "AddDistribution"
    distribution: Distribution


class ModifyDistribution(AddDistribution, frozen=True, kw_only=True):
    """MODIFY DISTRIBUTION BY (a) INTO 4 BUCKETS."""

    action: ClassVar[str] = "ModifyDistribution"


class DropColumns(AlterTable, frozen=True, kw_only=True):
    """DROP a, or DROP (a, b.c)."""

    action: ClassVar[str] = "DropColumn"
    columns: tuple[tuple[str, ...], ...]


class DropPrimaryKey(AlterTable, frozen=True):
    """DROP PRIMARY KEY."""

    action: ClassVar[str] = "DropPrimaryKey"


class DropConstraint(AlterTable, frozen=True, kw_only=True):
    """DROP CONSTRAINT c."""

    action: ClassVar[str] = "DropConstraint"
    constraint: str


class DropDistribution(AlterTable, frozen=True):
    """DROP DISTRIBUTION."""

    action: ClassVar[str] = "DropDistribution"


class DropWatermark(AlterTable, frozen=True):
    """DROP WATERMARK."""

    action: ClassVar[str] = "DropWatermark"


class AddPartitions(AlterTable, frozen=True, kw_only=True):
    """ADD IF NOT EXISTS PARTITION (a = 1) WITH (...)."""

    partitions: tuple[tuple[PartitionValue, ...], ...]
    partition_options: tuple[tuple[SqlOption, ...], ...]
    if_not_exists: bool = False

    def statement_kind(self) -> str:
        return "AddPartitions"


class DropPartitions(AlterTable, frozen=True, kw_only=True):
    """DROP IF EXISTS PARTITION (a = 1)."""

    partitions: tuple[tuple[PartitionValue, ...], ...]
    if_partition_exists: bool = False

    def statement_kind(self) -> str:
        return "DropPartitions"


class SuspendTable(AlterTable, frozen=True):
    """SUSPEND of a materialized table."""

    action: ClassVar[str] = "Suspend"


class ResumeTable(AlterTable, frozen=True):
    """RESUME WITH (...) of a materialized table."""

    action: ClassVar[str] = "Resume"
    options: tuple[SqlOption, ...] = ()


class RefreshTable(AlterTable, frozen=True):
    """REFRESH PARTITION (...) of a materialized table."""

    action: ClassVar[str] = "Refresh"
    partition: tuple[PartitionValue, ...] = ()


class SetFreshness(AlterTable, frozen=True, kw_only=True):
    """SET FRESHNESS = INTERVAL '1' DAY of a materialized table."""

    action: ClassVar[str] = "Freshness"
    freshness: object  # an IntervalLiteral


class SetRefreshMode(AlterTable, frozen=True, kw_only=True):
    """SET REFRESH_MODE = FULL of a materialized table."""

    action: ClassVar[str] = "RefreshMode"
    mode: str


class ChangeTableQuery(AlterTable, frozen=True, kw_only=True):
    """AS query of a materialized table."""

    action: ClassVar[str] = "AsQuery"
    query: Query
