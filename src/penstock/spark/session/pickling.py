"""Pickles programs for the workers. Classes of the user's main module are pickled by value and get their names in the worker.

Workers then pickle elements of those classes by reference, like those of any other class.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock import pyflink
from penstock.engine.program.pickling import load_with_classes, pickle_by_value, pickle_with_classes
from penstock.engine.program.program import Program
from penstock.engine.program.unpicklable import unpicklable_error
from penstock.errors import PlanError
from penstock.runtime.pickling import dumps
from penstock.runtime.user_classes import ProgramClasses
from penstock.spark.session.error_transport import wrap_errors
from penstock.spark.session.worker_setup import WorkerSetup, program_folders

_loading = threading.RLock()  # a process may load a program for several sources; each class is created once


def pickle_program(program: Program, setup: WorkerSetup) -> bytes:
    """A program with the classes of the user's main module, and what workers set up for its functions."""
    try:
        return _pickle(program, setup)
    except Exception as error:
        raise unpicklable_error(program, error, pickle_by_value) from error


def _pickle(value: Any, setup: WorkerSetup) -> bytes:
    complete = replace(setup, folders=program_folders(), as_pyflink=pyflink.is_installed())
    return pickle.dumps((complete, pickle_with_classes(value)), 5)


class TaskFunction:
    """A function for Spark tasks that are not part of a job. They have the classes of the user's main module, too."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._data = _pickle(function, WorkerSetup())

    def __call__(self, *arguments: Any) -> Any:
        function, _, _ = _load(self._data)
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


def load_program(data: bytes) -> tuple[Program, ProgramClasses, WorkerSetup]:
    """A new copy of a program, since subtasks do not share functions, its classes, which have been activated, and its setup."""
    return _load(data)


def _load(data: bytes) -> tuple[Any, ProgramClasses, WorkerSetup]:
    with _loading:
        return _load_alone(data)


def _load_alone(data: bytes) -> tuple[Any, ProgramClasses, WorkerSetup]:
    setup, pickled = pickle.loads(data)
    setup.prepare_imports()
    try:
        value, classes = load_with_classes(pickled)
    except ModuleNotFoundError as error:
        with wrap_errors():  # Spark reports an error of its own afterwards; the driver finds this one in its text
            raise PlanError(
                "MODULE_NOT_SHIPPED",
                f"The functions of the job use the module '{error.name}', which workers cannot import. Ship it with "
                "env.add_python_file(path) or the option python.files, or install it where functions run.",
            ) from error
    classes.activate()
    return value, classes, setup


def unpickle_program(data: bytes) -> Program:
    """A new copy of a program, whose classes have been activated."""
    return load_program(data)[0]
