"""Functions that an environment knows by name: objects of the program, and objects of modules."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.table.catalog.errors import refusal
from penstock.table.catalog.function import CatalogFunction
from penstock.table.user_functions.function import UserDefinedFunctionWrapper


def wrapper_of(function: Any) -> UserDefinedFunctionWrapper:
    """Returns what a decorator returned, or a function class's object with types of its own as if a decorator had made it."""
    if isinstance(function, UserDefinedFunctionWrapper):
        return function
    if hasattr(function, "emit_value"):
        from penstock.table.user_functions.table_aggregate_function import udtaf

        table: UserDefinedFunctionWrapper = udtaf(function)
        return table
    if hasattr(function, "create_accumulator"):
        from penstock.table.user_functions.aggregate_function import udaf

        aggregate: UserDefinedFunctionWrapper = udaf(function)
        return aggregate
    raise TypeError(
        f"{getattr(function, '__name__', repr(function))} has no result type. Make it a function for SQL: "
        "@udf(result_type=...), @udtf(result_types=...), udaf or udtaf."
    )


def inline(function: Any) -> CatalogFunction:
    """Returns the entry of a function that the program passed."""
    wrapper = wrapper_of(function)
    target = wrapper.func
    module = getattr(target, "__module__", None) or type(target).__module__
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    return CatalogFunction(f"{module}.{name}", "PYTHON", inline=wrapper)


def load(function: CatalogFunction, name: str) -> UserDefinedFunctionWrapper:
    """Returns the function of an entry: the object, or what the module has under the name."""
    if function.inline is not None:
        wrapper: UserDefinedFunctionWrapper = function.inline
        return wrapper
    if function.language.upper() != "PYTHON":
        raise refusal(
            "SQL_FUNCTION",
            f"The function '{name}' is written in {function.language.title()} ('{function.implementation}'). Functions are written "
            "in Python here: write it as a Python function, and CREATE FUNCTION ... LANGUAGE PYTHON.",
        )
    found = _imported(function.implementation, name)
    try:
        return wrapper_of(found)
    except TypeError as error:
        raise refusal(
            "SQL_FUNCTION", f"The function '{name}' is implemented by '{function.implementation}': {error}"
        ) from error


def _imported(path: str, name: str) -> Any:
    """Returns the object at module.attribute or module:attribute."""
    parts = path.replace(":", ".").split(".")
    for length in range(len(parts) - 1, 0, -1):
        module_name = ".".join(parts[:length])
        try:
            found: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is not None and (module_name + ".").startswith(error.name + "."):
                continue
            raise refusal("SQL_FUNCTION", f"The module '{module_name}' of the function '{name}': {error}.") from error
        except Exception as error:
            raise refusal(
                "SQL_FUNCTION",
                f"The module '{module_name}' of the function '{name}' cannot be imported: {type(error).__name__}: {error}.",
            ) from error
        for attribute in parts[length:]:
            if not hasattr(found, attribute):
                raise refusal(
                    "SQL_FUNCTION",
                    f"The function '{name}' is implemented by '{path}', but '{module_name}' has no '{attribute}'.",
                )
            found = getattr(found, attribute)
        return found
    raise refusal(
        "SQL_FUNCTION",
        f"The function '{name}' is implemented by '{path}', but there is no module '{'.'.join(parts[:-1]) or path}'. Write "
        "'module.function', and put the file on PYTHONPATH, or add it with add_python_file.",
    )
