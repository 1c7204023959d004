"""Names of objects in catalogs."""

from __future__ import annotations

from typing import NamedTuple

from penstock.table.catalog.errors import refusal


class ObjectPath(NamedTuple):
    """Database and name of a table, view or function.

    >>> ObjectPath.from_string("db.orders").get_object_name()
    'orders'
    """

    database_name: str
    object_name: str

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """Splits a name with one dot."""
        database, _, name = full_name.partition(".")
        if not database or not name or "." in name:
            raise refusal("SQL_TABLE", f"'{full_name}' has not the form database.name.")
        return ObjectPath(database, name)

    def get_database_name(self) -> str:
        """Returns the name of the database."""
        return self.database_name

    def get_object_name(self) -> str:
        """Returns the name in the database."""
        return self.object_name

    def get_full_name(self) -> str:
        """Returns both names with a dot between them."""
        return f"{self.database_name}.{self.object_name}"

    def compare_to(self, other: ObjectPath) -> int:
        """Returns a negative number, 0 or a positive number if the full name is less than, equal to or greater than another one."""
        mine, theirs = self.get_full_name(), other.get_full_name()
        return (mine > theirs) - (mine < theirs)

    def __str__(self) -> str:
        return self.get_full_name()


class ObjectIdentifier(NamedTuple):
    """Catalog, database and name of an object.

    >>> print(ObjectIdentifier.of("c", "db", "orders"))
    `c`.`db`.`orders`
    """

    catalog_name: str
    database_name: str
    object_name: str

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """Returns the identifier of three names."""
        assert None not in (catalog_name, database_name, object_name), "All three names are needed."
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """Returns the name of the catalog."""
        return self.catalog_name

    def get_database_name(self) -> str:
        """Returns the name of the database."""
        return self.database_name

    def get_object_name(self) -> str:
        """Returns the name in the database."""
        return self.object_name

    def to_object_path(self) -> ObjectPath:
        """Returns database and name."""
        return ObjectPath(self.database_name, self.object_name)

    def to_list(self) -> list[str]:
        """Returns the three names."""
        return list(self)

    def as_serializable_string(self) -> str:
        """Returns the names as SQL has them, in backquotes."""
        return ".".join(f"`{name.replace('`', '``')}`" for name in self)

    def as_summary_string(self) -> str:
        """Returns the names with dots between them."""
        return ".".join(self)

    def __str__(self) -> str:
        return self.as_serializable_string()
