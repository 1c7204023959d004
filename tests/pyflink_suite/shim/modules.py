"""Small modules of PyFlink, and internal names, that its tests import."""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.pyflink_suite.shim import java
from tests.pyflink_suite.shim.java import GATEWAY, JEnvironment, jvm_only


def _module(**names: Any) -> dict[str, Any]:
    return names


def get_log_dir(env: Any) -> str:
    """Penstock's logs of the jobs that the running test has run, as the one Python log that Flink would have."""
    java.USED.append("log folder")
    folder = tempfile.mkdtemp(prefix="pyflink-tests-log-")
    text = []
    for file in sorted(Path(os.environ["PENSTOCK_HOME"]).rglob("*")):
        if (
            file.is_file()
            and file.stat().st_mtime >= float(os.environ["PYFLINK_SUITE_TEST_STARTED"])
            and "log" in str(file)
        ):
            text.append(file.read_text(errors="replace"))
    Path(folder, "flink-python.log").write_text("\n".join(text))
    return folder


def java_name(what: str) -> Any:
    return lambda *args, **kwargs: jvm_only(what)


SMALL: dict[str, dict[str, Any]] = {
    "pyflink.java_gateway": _module(get_gateway=lambda: GATEWAY),
    "pyflink.find_flink_home": _module(
        _find_flink_source_root=java_name("flink source"), _find_flink_home=lambda: "/none"
    ),
    "pyflink.pyflink_gateway_server": _module(
        get_log_dir=get_log_dir, prepare_environment_variables=lambda env: None, on_windows=lambda: False
    ),
    "pyflink.util.java_utils": _module(
        get_j_env_configuration=JEnvironment.getConfiguration,
        load_java_class=java_name("load_java_class"),
        is_instance_of=java_name("is_instance_of"),
        get_field_value=java_name("get_field_value"),
        to_jarray=java_name("to_jarray"),
    ),
}

# Names that are imported at the top of a test file: (module, name, what it is)
AT_TOP = [
    ("pyflink.common.typeinfo", "_from_java_type", java_name("_from_java_type")),
    ("pyflink.datastream.state_backend", "_from_j_state_backend", java_name("_from_j_state_backend")),
    ("pyflink.datastream.utils", "create_hadoop_configuration", lambda configuration: configuration),
    ("pyflink.table.types", "_to_java_data_type", java.JDataType),
    ("pyflink.table.types", "_from_java_data_type", java_name("_from_java_data_type")),
    ("pyflink.serializers", "PickleSerializer", java_name("the serializer of records for Java")),
    ("pyflink.serializers", "BatchedSerializer", java_name("the serializer of records for Java")),
]


def fill(name: str, module: ModuleType) -> None:
    """Sets the names of a module."""
    module.__dict__.update(SMALL.get(name, {}))


def put_names() -> None:
    for module, name, value in AT_TOP:
        setattr(importlib.import_module(module), name, value)
