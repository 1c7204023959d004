"""Writes tests/unit/table/api/answers.json: the answers of PyFlink to the programs in tests/unit/table/api/programs.py.

python scripts/record_table_programs.py         with a Python that has apache-flink: those that have no answer yet
python scripts/record_table_programs.py --all   all of them
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests" / "unit" / "table" / "api"
sys.path.insert(0, str(TESTS))

from pyflink import table  # type: ignore[import-not-found,unused-ignore] # noqa: E402
from pyflink.table import expressions, window  # type: ignore[import-not-found,unused-ignore] # noqa: E402

import programs  # type: ignore[import-not-found,unused-ignore] # noqa: E402


def record(mode: str, texts: dict[str, str], known: dict[str, Any], folder: str) -> dict[str, Any]:
    settings = (
        table.EnvironmentSettings.in_streaming_mode()
        if mode == "streaming"
        else table.EnvironmentSettings.in_batch_mode()
    )
    env = table.TableEnvironment.create(settings)
    env.get_config().set("parallelism.default", "1")
    env.get_config().set_local_timezone("UTC")
    names = programs.namespace(env, table, expressions, window, folder)
    found = {}
    for name, text in texts.items():
        if name in known:
            found[name] = known[name]
            continue
        try:
            found[name] = programs.answer(text, names, mode == "streaming")
        except Exception as error:
            lines = [line for line in str(error).splitlines() if "Exception" in line or "Error" in line]
            found[name] = {"error": (lines or [str(error)])[-1].split(": ", 1)[-1][:200]}
        print(mode, name, json.dumps(found[name])[:300], flush=True)
    return found


def main(everything: bool) -> None:
    answers = TESTS / "answers.json"
    known = {} if everything or not answers.exists() else json.loads(answers.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "events.csv").write_text("\n".join(programs.EVENTS) + "\n", encoding="utf-8")
        found = {
            "streaming": record("streaming", programs.STREAMING, known.get("streaming", {}), folder),
            "batch": record("batch", programs.BATCH, known.get("batch", {}), folder),
        }
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    answers.write_text(text, encoding="utf-8")


main("--all" in sys.argv)
