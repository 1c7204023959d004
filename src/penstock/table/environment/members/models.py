"""Models, which Penstock has none of."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.errors import UnsupportedOperation


class Models:
    """The methods of a table environment for models. There are none."""

    def create_model(self, model_path: str, model_descriptor: Any, ignore_if_exists: bool = False) -> NoReturn:
        """Refused: call the model in a Python function."""
        raise _refused(model_path)

    def create_temporary_model(
        self, model_path: str, model_descriptor: Any, ignore_if_exists: bool = False
    ) -> NoReturn:
        """Refused: call the model in a Python function."""
        raise _refused(model_path)

    def drop_model(self, model_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Returns False, because there are no models."""
        return _none(model_path, ignore_if_not_exists)

    def drop_temporary_model(self, model_path: str) -> bool:
        """Returns False, because there are no models."""
        return False

    def list_models(self) -> list[str]:
        """Returns an empty list, because there are no models."""
        return []

    def list_temporary_models(self) -> list[str]:
        """Returns an empty list, because there are no models."""
        return []


def _refused(path: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        "SQL_MODEL",
        f"The model '{path}' cannot be created, because Penstock has no models. Call it in a Python function (udf).",
    )


def _none(path: str, ignore: bool) -> bool:
    if not ignore:
        raise UnsupportedOperation("SQL_MODEL", f"There is no model '{path}', because Penstock has no models.")
    return False
