"""Reads PyFlink's public names and their parameters from a Flink checkout.

Writes them to tests/parity/pyflink.json, by class, and to tests/unit/pyflink/modules.json, by module.

python scripts/read_pyflink_names.py path/to/flink
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
TARGET = TESTS / "parity" / "pyflink.json"
MODULES = TESTS / "unit" / "pyflink" / "modules.json"

# Files below flink-python/pyflink by area.
AREAS = {
    "streams": ["datastream/data_stream.py", "datastream/output_tag.py"],
    "functions": ["datastream/functions.py"],
    "state and timers": ["datastream/state.py", "datastream/timerservice.py", "datastream/time_domain.py"],
    "watermarks": ["common/watermark_strategy.py"],
    "environment": [
        "datastream/stream_execution_environment.py",
        "datastream/checkpoint_config.py",
        "datastream/checkpointing_mode.py",
        "datastream/externalized_checkpoint_retention.py",
        "datastream/checkpoint_storage.py",
        "datastream/state_backend.py",
        "datastream/execution_mode.py",
        "datastream/slot_sharing_group.py",
        "common/configuration.py",
        "common/config_options.py",
        "common/execution_config.py",
        "common/restart_strategy.py",
        "common/job_client.py",
        "common/job_execution_result.py",
        "common/job_id.py",
        "common/job_status.py",
        "common/completable_future.py",
    ],
    "types": ["common/typeinfo.py", "common/types.py", "common/time.py"],
    "metrics": ["metrics/metricbase.py"],
    "windows": ["datastream/window.py"],
    "async I/O": [
        "datastream/async_data_stream.py",
        "datastream/async_retry_predicates.py",
        "datastream/async_retry_strategies.py",
    ],
}
# Files whose functions are also API.
FUNCTIONS = ["datastream/async_retry_predicates.py"]
# Classes in a file of another area, by pattern.
AREA_BY_CLASS = {r".*Window.*": "windows", r"Async.*": "async I/O"}
# Classes that are not API: wrappers of Java objects, serializers, internals of typed streams.
INTERNAL_CLASSES = re.compile(
    r"_.*|Internal.*|.*Wrapper|.*TypeInfo|.*Serializer|NullByteKeySelector|BasicType|Min|AccumulateType"
    r"|WindowOperationDescriptor|AsyncFunctionDescriptor"
)
# Internal classes and functions of modules, some of them without an underscore.
INTERNAL_NAMES = re.compile(r"_.*|Internal.*|.*Wrapper|Min|WindowOperationDescriptor|long_to_int.*|mod_inverse")
# Modules that are not API.
INTERNAL_MODULES = re.compile(
    r"(table|examples|fn_execution|testing|bin|.*tests)/.*|.*/(constants|utils)\.py|[^/]*\.py|util/.*|.*/formats/__init__.py"
    r"|datastream/connectors/(?!__init__|base|file_system|kafka|number_seq).*"
)
INTERNAL_MEMBERS = re.compile(r".*java.*|_.*|j_.*|.*_j_.*|get_window_serializer")


def read_class(node: ast.ClassDef) -> dict[str, Any]:
    result: dict[str, Any] = {"methods": {}, "constants": [], "classes": {}}
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            if part.name == "__init__":
                result["init"] = parameters(part)
            elif not INTERNAL_MEMBERS.fullmatch(part.name):
                result["methods"][part.name] = read_method(part)
        elif isinstance(part, ast.ClassDef) and not INTERNAL_CLASSES.fullmatch(part.name):
            result["classes"][part.name] = read_class(part)
        elif isinstance(part, ast.Assign):
            names = [t.id for t in part.targets if isinstance(t, ast.Name)]
            result["constants"] += [name for name in names if not INTERNAL_MEMBERS.fullmatch(name)]
    return {key: value for key, value in result.items() if value or key == "init"}


def read_method(node: ast.FunctionDef) -> dict[str, Any]:
    decorators = [d.id for d in node.decorator_list if isinstance(d, ast.Name)]
    result: dict[str, Any] = {"parameters": parameters(node)}
    if "property" in decorators:
        result["property"] = True
    if always_raises(node):
        result["refuses"] = True
    return result


def parameters(node: ast.FunctionDef) -> list[str]:
    """Returns the parameter names in order, with stars for variadic parameters and a question mark for those with a default."""
    args = node.args
    plain = [a.arg for a in [*args.posonlyargs, *args.args]]
    first = len(plain) - len(args.defaults)
    names = [name + ("?" if n >= first else "") for n, name in enumerate(plain)]
    names += [f"*{args.vararg.arg}"] if args.vararg else []
    names += [a.arg + ("?" if d is not None else "") for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    names += [f"**{args.kwarg.arg}"] if args.kwarg else []
    return [name for name in names if name not in ("self", "cls")]


def always_raises(node: ast.FunctionDef) -> bool:
    """Returns whether the method always raises an error in PyFlink. Abstract methods do not count."""
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return len(body) == 1 and isinstance(body[0], ast.Raise) and "NotImplementedError" not in ast.unparse(body[0])


def public_names(tree: ast.Module) -> list[str]:
    """Returns the names in `__all__` of a module, and the classes and functions that it defines."""
    listed = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    defined = [node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    names = {name for names in listed for name in names} | {n for n in defined if not INTERNAL_NAMES.fullmatch(n)}
    return sorted(names)


def read_modules(pyflink: Path) -> dict[str, list[str]]:
    """Returns the public names of each public module."""
    modules = {}
    for path in sorted(pyflink.rglob("*.py")):
        file = path.relative_to(pyflink).as_posix()
        if not INTERNAL_MODULES.fullmatch(file):
            module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            modules[module] = public_names(ast.parse(path.read_text(encoding="utf-8")))
    return modules


def main(flink: Path) -> None:
    modules = read_modules(flink / "flink-python" / "pyflink")
    MODULES.write_text(json.dumps(modules, indent=1) + "\n", encoding="utf-8")
    areas: dict[str, dict[str, Any]] = {area: {} for area in AREAS}
    for area, files in AREAS.items():
        for file in files:
            tree = ast.parse((flink / "flink-python" / "pyflink" / file).read_text(encoding="utf-8"))
            for node in tree.body:
                if isinstance(node, ast.FunctionDef) and file in FUNCTIONS:
                    areas[area][node.name] = {"function": parameters(node)}
                if isinstance(node, ast.ClassDef) and not INTERNAL_CLASSES.fullmatch(node.name):
                    target = next((a for pattern, a in AREA_BY_CLASS.items() if re.fullmatch(pattern, node.name)), area)
                    areas[target][node.name] = read_class(node)
    TARGET.write_text(json.dumps(areas, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
