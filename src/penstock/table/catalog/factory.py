"""Creates catalogs from the options of CREATE CATALOG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.table.catalog.catalog import Catalog
from penstock.table.catalog.errors import did_you_mean, refusal
from penstock.table.catalog.file import FileCatalog
from penstock.table.catalog.manager import CatalogEntry
from penstock.table.catalog.memory import MemoryCatalog
from penstock.table.catalog.spark.catalog import SESSION_CATALOG, SparkCatalog

_OPTIONS = {
    "generic_in_memory": ("default-database", "property-version"),
    "file": ("default-database", "path", "property-version"),
    "spark": ("catalog", "default-database", "property-version"),
}
_SPARK_SETTINGS = "spark.sql.catalog."  # 'spark.sql.catalog.lake' = 'org...' configures the catalog 'lake' in Spark


def check_options(options: Mapping[str, str]) -> str:
    """Checks the options of a catalog and returns its type."""
    kind = options.get("type")
    if kind is None:
        raise refusal("SQL_CATALOG", f"A catalog needs the option 'type'. Types: {', '.join(_OPTIONS)}.")
    if kind not in _OPTIONS:
        near = did_you_mean(kind, _OPTIONS)
        raise refusal("SQL_CATALOG", f"There is no type of catalog '{kind}'.{near} Types: {', '.join(_OPTIONS)}.")
    known = _OPTIONS[kind]
    unknown = [key for key in options if key not in (*known, "type") and not _is_setting(kind, key)]
    if unknown:
        near = did_you_mean(unknown[0], known)
        raise refusal(
            "SQL_CATALOG",
            f"A catalog of type '{kind}' has no option '{unknown[0]}'.{near} Options: {', '.join(known)}.",
        )
    if kind == "file" and not options.get("path"):
        raise refusal("SQL_CATALOG", "A catalog of type 'file' needs the option 'path': the folder of its tables.")
    return kind


def _is_setting(kind: str, key: str) -> bool:
    return kind == "spark" and key.startswith(_SPARK_SETTINGS)


def create_entry(
    options: Mapping[str, str], comment: str | None = None, spark_session: Callable[[], Any] | None = None
) -> CatalogEntry:
    """Creates a catalog. `spark_session` returns the session that a catalog of Spark belongs to."""
    kind = check_options(options)
    database = options.get("default-database", "default")
    catalog: Catalog
    if kind == "spark":
        assert spark_session is not None
        settings = {key: value for key, value in options.items() if _is_setting(kind, key)}
        name = options.get("catalog", SESSION_CATALOG)
        catalog = SparkCatalog(spark_session, name, options.get("default-database"), settings)
    elif kind == "file":
        catalog = FileCatalog(options["path"], database)
    else:
        catalog = MemoryCatalog(database)
    return CatalogEntry(catalog, dict(options), comment)
