"""Replaces pyflink/testing/test_case_utils.py: the base classes of PyFlink's tests, with Penstock's environment."""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
import unittest
from typing import Any

from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment  # type: ignore[import-not-found]
from pyflink.table import StreamTableEnvironment  # type: ignore[import-not-found]

from penstock import Configuration
from penstock.cli.run.program import PYFLINK_OPTIONS
from tests.pyflink_suite.shim.java import jvm_only


def exec_insert_table(table: Any, table_path: str) -> Any:
    return table.execute_insert(table_path).get_job_client().get_job_execution_result().result()


def invoke_java_object_method(obj: Any, method_name: str) -> Any:
    jvm_only(f"{obj}.{method_name}")


def _load_specific_flink_module_jars(jars_relative_path: str) -> Any:
    jvm_only(jars_relative_path)


def to_java_data_structure(value: Any) -> Any:
    """Java's value of a Python one; here values stay what they are."""
    return value


def new_environment() -> Any:
    """Returns an environment with the options of `penstock run --pyflink`."""
    return StreamExecutionEnvironment.get_execution_environment(Configuration(PYFLINK_OPTIONS))


def new_table_environment(env: Any) -> Any:
    """Returns a table environment as PyFlink's tests configure it."""
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set("python.fn-execution.bundle.size", "1")
    return t_env


def run_with_config(configuration: dict[str, str]) -> Any:
    """Returns a decorator that runs a test with some options and resets them afterwards."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def run(test: Any) -> None:
            config = test.t_env.get_config()
            before = {key: config.get(key, "") for key in configuration}
            for key, value in configuration.items():
                config.set(key, value)
            try:
                function(test)
            finally:
                for key, old in before.items():
                    config.set(key, old)

        return run

    return decorate


class PyFlinkTestCase(unittest.TestCase):
    tempdir: str
    env: Any
    t_env: Any

    @classmethod
    def setUpClass(cls) -> None:
        cls.tempdir = tempfile.mkdtemp()
        os.environ["FLINK_TESTING"] = "1"
        os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112 (the name that the tests read)

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.tempdir, ignore_errors=True)

    @classmethod
    def assert_equals(cls, actual: Any, expected: Any) -> None:
        actual.sort()
        expected.sort()
        assert len(actual) == len(expected)
        assert all(x == y for x, y in zip(actual, expected, strict=True))


class PyFlinkITTestCase(PyFlinkTestCase):
    """One environment for all tests of a class, as in PyFlink."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.env = new_environment()
        cls.env.set_parallelism(2)


class PyFlinkUTTestCase(PyFlinkTestCase):
    def setUp(self) -> None:
        self.env = new_environment()
        self.env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
        self.env.set_parallelism(2)
        self.t_env = new_table_environment(self.env)


class PyFlinkStreamTableTestCase(PyFlinkITTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
        cls.t_env = new_table_environment(cls.env)


class PyFlinkBatchTableTestCase(PyFlinkITTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        cls.t_env = new_table_environment(cls.env)


class PyFlinkStreamingTestCase(PyFlinkITTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.env.set_runtime_mode(RuntimeExecutionMode.STREAMING)


class PyFlinkBatchTestCase(PyFlinkITTestCase):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.env.set_runtime_mode(RuntimeExecutionMode.BATCH)


class PythonAPICompletenessTestCase:
    """Compares a Python class with the methods of a Java class, by reflection."""

    def test_completeness(self) -> None:
        jvm_only(f"reflection of {self.java_class()}")  # type: ignore[attr-defined]
