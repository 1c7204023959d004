"""The errors of `pyflink.util.exceptions`. Penstock's errors are raised instead, so that `except` clauses catch them."""

from __future__ import annotations

from penstock.errors import PenstockError, SqlValidationError

JavaException = PenstockError
TableException = PenstockError
CatalogException = SqlValidationError
DatabaseAlreadyExistException = SqlValidationError
DatabaseNotEmptyException = SqlValidationError
DatabaseNotExistException = SqlValidationError
FunctionAlreadyExistException = SqlValidationError
FunctionNotExistException = SqlValidationError
ModelAlreadyExistException = SqlValidationError
ModelNotExistException = SqlValidationError
PartitionAlreadyExistsException = SqlValidationError
PartitionNotExistException = SqlValidationError
PartitionSpecInvalidException = SqlValidationError
TableAlreadyExistException = SqlValidationError
TableNotExistException = SqlValidationError
TableNotPartitionedException = SqlValidationError

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "JavaException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableException",
    "TableNotExistException",
    "TableNotPartitionedException",
]
