"""Databases, partitions and functions of catalogs, as programs create and read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.table.catalog.catalog import CatalogDatabase as StoredDatabase
from penstock.table.catalog.function import CatalogFunction as StoredFunction


@dataclass(frozen=True)
class CatalogDatabase:
    """What describes a database.

    >>> CatalogDatabase.create_instance({"owner": "ann"}, "orders").get_properties()
    {'owner': 'ann'}
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(properties: Mapping[str, str], comment: str | None = None) -> CatalogDatabase:
        """Returns a database with properties and a comment."""
        return CatalogDatabase(dict(properties), comment)

    @staticmethod
    def of(stored: StoredDatabase) -> CatalogDatabase:
        """Returns a database of a catalog."""
        return CatalogDatabase(dict(stored.options), stored.comment)

    def stored(self) -> StoredDatabase:
        """Returns what a catalog stores."""
        return StoredDatabase(self.comment, tuple(self.properties.items()))

    def get_properties(self) -> dict[str, str]:
        """Returns the properties."""
        return dict(self.properties)

    def get_comment(self) -> str | None:
        """Returns the comment."""
        return self.comment

    def copy(self) -> CatalogDatabase:
        """Returns a copy."""
        return CatalogDatabase(dict(self.properties), self.comment)

    def get_description(self) -> str | None:
        """Returns the comment."""
        return self.comment

    def get_detailed_description(self) -> str | None:
        """Returns the comment."""
        return self.comment


@dataclass(frozen=True)
class CatalogPartitionSpec:
    """The values of the partition columns that name a partition."""

    partition_spec: Mapping[str, str]

    def get_partition_spec(self) -> dict[str, str]:
        """Returns the values by the names of the columns."""
        return dict(self.partition_spec)

    def __hash__(self) -> int:
        return hash(frozenset(self.partition_spec.items()))

    def __str__(self) -> str:
        values = ", ".join(f"{key}={value}" for key, value in self.partition_spec.items())
        return f"CatalogPartitionSpec{{{{{values}}}}}"


@dataclass(frozen=True)
class CatalogPartition:
    """What describes a partition of a table."""

    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(properties: Mapping[str, str], comment: str | None = None) -> CatalogPartition:
        """Returns a partition with properties and a comment."""
        return CatalogPartition(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        """Returns the properties."""
        return dict(self.properties)

    def get_comment(self) -> str | None:
        """Returns the comment."""
        return self.comment

    def copy(self) -> CatalogPartition:
        """Returns a copy."""
        return CatalogPartition(dict(self.properties), self.comment)

    def get_description(self) -> str | None:
        """Returns None, as in Flink."""
        return None

    def get_detailed_description(self) -> str | None:
        """Returns None, as in Flink."""
        return None


@dataclass(frozen=True)
class CatalogFunction:
    """A function of a catalog by the path of its Python object.

    >>> CatalogFunction.create_instance("module.f").get_class_name()
    'module.f'
    """

    class_name: str
    function_language: str = "PYTHON"
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """Returns a function. Only those in Python can be called."""
        if function_language.lower() not in ("python", "java", "scala"):
            raise ValueError(f"function_language must be one of 'Python', 'Java' or 'Scala', not {function_language!r}")
        return CatalogFunction(class_name, function_language.upper())

    @staticmethod
    def of(stored: StoredFunction) -> CatalogFunction:
        """Returns a function of a catalog."""
        return CatalogFunction(stored.implementation, stored.language, dict(stored.options))

    def stored(self) -> StoredFunction:
        """Returns what a catalog stores."""
        return StoredFunction(self.class_name, self.function_language, tuple(self.options.items()))

    def get_class_name(self) -> str:
        """Returns the path of the Python object."""
        return self.class_name

    def get_function_language(self) -> str:
        """Returns the language: PYTHON, JAVA or SCALA."""
        return self.function_language

    def get_options(self) -> dict[str, str]:
        """Returns the options."""
        return dict(self.options)

    def copy(self) -> CatalogFunction:
        """Returns a copy."""
        return CatalogFunction(self.class_name, self.function_language, dict(self.options))

    def get_description(self) -> str | None:
        """Returns what the function is."""
        return "This is a user-defined function"

    def get_detailed_description(self) -> str | None:
        """Returns what the function is."""
        return "This is a user-defined function"
