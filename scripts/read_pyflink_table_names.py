"""Reads the public names of PyFlink's Table API from a Flink checkout, and writes them to tests/parity/tables/pyflink.json.

python scripts/read_pyflink_table_names.py path/to/flink
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

from read_pyflink_names import (  # type: ignore[import-not-found,unused-ignore]
    INTERNAL_CLASSES,
    parameters,
    public_names,
    read_class,
)

TARGET = Path(__file__).resolve().parent.parent / "tests" / "parity" / "tables" / "pyflink.json"

# Files below flink-python/pyflink/table by area.
AREAS = {
    "tables": ["table.py", "table_pipeline.py", "table_result.py", "statement_set.py"],
    "environments": [
        "table_environment.py",
        "environment_settings.py",
        "table_config.py",
        "module.py",
        "explain_detail.py",
        "changelog_mode.py",
        "result_kind.py",
        "sql_dialect.py",
        "compiled_plan.py",
        "plan_reference.py",
        "model_descriptor.py",
    ],
    "schemas": ["schema.py", "table_schema.py", "table_descriptor.py", "types.py", "resolved_expression.py"],
    "catalogs": ["catalog.py"],
    "windows": ["window.py"],
    "functions": ["udf.py", "data_view.py"],
    "expressions": ["expression.py", "expressions.py"],
}
# Files of which only the names in __all__ are API.
LISTED = ("types.py", "udf.py", "catalog.py", "module.py")
# Files whose functions are API.
FUNCTIONS = ("udf.py", "expressions.py")
_OTHERS = re.compile(r"CloseableIterator|Row|RowKind")  # on the page of streams


def main(flink: Path) -> None:
    areas: dict[str, dict[str, Any]] = {area: {} for area in AREAS}
    for area, files in AREAS.items():
        for file in files:
            tree = ast.parse((flink / "flink-python" / "pyflink" / "table" / file).read_text(encoding="utf-8"))
            listed = public_names(tree)
            every = [n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"]
            if file in LISTED and every:
                listed = ast.literal_eval(every[0].value)
            for node in tree.body:
                if isinstance(node, ast.FunctionDef) and file in FUNCTIONS and node.name in listed:
                    areas[area][node.name] = {"function": parameters(node)}
                if not isinstance(node, ast.ClassDef) or INTERNAL_CLASSES.fullmatch(node.name):
                    continue
                if not _OTHERS.fullmatch(node.name) and (file not in LISTED or node.name in listed):
                    areas[area][node.name] = read_class(node)
    TARGET.write_text(json.dumps(areas, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
