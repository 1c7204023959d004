"""Pickles programs for the workers. Classes of the user's main module are pickled by value and get their names in the worker.

Workers then pickle elements of those classes by reference, like those of any other class.
"""

from __future__ import annotations

import os
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

from pyspark import SparkFiles

from penstock import pyflink
from penstock.engine.program.pickling import load_with_classes, pickle_by_value, pickle_with_classes
from penstock.engine.program.program import Program
from penstock.engine.program.unpicklable import unpicklable_error
from penstock.runtime.pickling import dumps
from penstock.runtime.user_classes import ProgramClasses


def pickle_program(program: Program, archives: list[str]) -> bytes:
    """A program with the classes of the user's main module, and the names of archives that workers put on their path."""
    try:
        return _pickle(program, archives)
    except Exception as error:
        raise unpicklable_error(program, error, pickle_by_value) from error


def _pickle(value: Any, archives: list[str]) -> bytes:
    folder = _program_folder(sys.modules["__main__"])
    return pickle.dumps((archives, folder, pyflink.is_installed(), pickle_with_classes(value)), 5)


class TaskFunction:
    """A function for Spark tasks that are not part of a job. They have the classes of the user's main module, too."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._data = _pickle(function, [])

    def __call__(self, *arguments: Any) -> Any:
        function, _ = _load(self._data)
        return function(*arguments)


def pickle_elements(value: Any) -> bytes:
    """Pickles elements for another process of the job, which can import the classes of the program."""
    try:
        return dumps(value)
    except Exception:  # objects without an importable name, such as nested functions, are pickled by value
        return pickle_by_value(value)


def pickle_for_driver(value: Any) -> bytes:
    """Pickles elements for the driver, where classes of the program are the originals."""
    try:
        return pickle.dumps(value, 5)
    except Exception:
        return pickle_by_value(value)


def _program_folder(main: types.ModuleType) -> str:
    """The folder of the user's program, which may contain modules that it imports."""
    file = getattr(main, "__file__", None)
    return os.path.dirname(os.path.abspath(file)) if file else ""


def load_program(data: bytes) -> tuple[Program, ProgramClasses]:
    """A new copy of a program, since subtasks do not share functions, and its classes, which have been activated."""
    return _load(data)


def _load(data: bytes) -> tuple[Any, ProgramClasses]:
    archives, folder, as_pyflink, pickled = pickle.loads(data)
    if (
        os.path.isdir(folder) and folder not in sys.path
    ):  # Spark's processes on the driver machine have no shipped modules
        sys.path.append(folder)
    if as_pyflink:  # the user's modules may import it
        pyflink.install()
    for name in archives:
        path = SparkFiles.get(name)
        if path not in sys.path:
            sys.path.append(path)
    value, classes = load_with_classes(pickled)
    classes.activate()
    return value, classes


def unpickle_program(data: bytes) -> Program:
    """A new copy of a program, whose classes have been activated."""
    return load_program(data)[0]
