"""Records what real Flink answers for queries, wrong statements and statements about the catalog.

    python scripts/flink_query_oracle.py [--again] FILE.json ...

Run it in a virtual environment with apache-flink==2.3.0, its bin first on PATH. A file is {"tables": {name: {"setup",
"files"}}, "cases": [...]}; a case has an "id", "tables" (names), and optionally "setup", "files" and "config" of its own.

* With "query": adds "columns" (types as DESCRIBE shows them), "final" (the table at the end), or "error".
* With "statement" (and "valid", a right twin, and "mention", a word of the message): adds "message", and "error" in case
  Flink takes the wrong one or refuses the right one.
* With "statements" (a list of texts or of {"sql"}): adds the "rows" of each that returns some.

Cases that have an answer are left alone unless --again is given. No test needs Flink: tests read the recorded answers.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["TZ"] = "UTC"
time.tzset()
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.system.sql import flink_answers as answers  # noqa: E402

ANSWERS = ("columns", "final", "error", "message", "known")
CLUSTER = {
    "rest.port": "0",
    "rest.bind-port": "0",
    "taskmanager.memory.managed.size": "256m",
    "taskmanager.memory.network.min": "64m",
    "taskmanager.memory.network.max": "64m",
}
SETTINGS: dict[str, str] = {}  # how an environment reaches the cluster
ANSWERS = r"(SHOW|DESC|DESCRIBE|SELECT|WITH|VALUES|EXPLAIN)\b"


def cluster() -> dict[str, str]:
    """Start one cluster for all cases, because a cluster per query costs more than the query. Returns its settings."""
    from pyflink.java_gateway import get_gateway  # type: ignore[import-not-found,unused-ignore]

    jvm = get_gateway().jvm
    settings = jvm.org.apache.flink.configuration.Configuration()
    for key, value in CLUSTER.items():
        settings.setString(key, value)
    mini = jvm.org.apache.flink.runtime.minicluster
    builder = getattr(mini, "MiniClusterConfiguration$Builder")()
    started = mini.MiniCluster(builder.setConfiguration(settings).setNumSlotsPerTaskManager(4).build())
    started.start()
    address = started.getRestAddress().get()
    return {"execution.target": "remote", "rest.address": address.getHost(), "rest.port": str(address.getPort())}


def environment(settings: dict[str, str]) -> Any:
    from pyflink.table import EnvironmentSettings, TableEnvironment  # type: ignore[import-not-found,unused-ignore]

    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in settings.items():
        env.get_config().set(key, value)
    return env


def prepared(case: dict[str, Any], tables: dict[str, Any], folder: str) -> Any:
    env = environment(SETTINGS)
    answers.prepare(env, case, tables, Path(folder))
    return env


def ask_query(case: dict[str, Any], tables: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            columns, changelog = answers.answer(prepared(case, tables, folder), case["query"].replace("${dir}", folder))
            case.update({"columns": columns, "final": answers.folded(changelog)})
        except Exception as error:
            case["error"] = answers.reason(str(error))


def ask_error(case: dict[str, Any], tables: dict[str, Any]) -> None:
    def attempt(statement: str) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            return answers.attempted(prepared(case, tables, folder), statement.replace("${dir}", folder))

    message = attempt(case["statement"])
    valid = attempt(case["valid"]) if case.get("valid") else None
    if message is None:
        case["error"] = "Flink takes the wrong statement"
    elif valid is not None:
        case["error"] = f"Flink refuses the right twin: {answers.reason(valid)}"
    else:
        case["message"] = answers.reason(message)
        mention = case["mention"] if isinstance(case["mention"], list) else [case["mention"]]
        if not any(word.lower() in message.lower() for word in mention):
            case["error"] = f"Flink does not mention {mention}"


def ask_statements(case: dict[str, Any], tables: dict[str, Any]) -> None:
    steps: list[dict[str, Any]] = [{"sql": step} if isinstance(step, str) else step for step in case["statements"]]
    case["statements"] = steps
    with tempfile.TemporaryDirectory() as folder:
        env = prepared(case, tables, folder)
        for step in steps:
            try:
                if re.match(ANSWERS, step["sql"]) and not step["sql"].startswith("EXPLAIN"):
                    step["rows"] = answers.returned(env, step["sql"])
                else:
                    env.execute_sql(step["sql"])
            except Exception as error:
                case["error"] = f"{step['sql']}: {answers.reason(str(error))}"
                return


def record(path: Path, again: bool) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    tables = data.get("tables", {})
    for case in data["cases"]:
        if not again and (any(key in case for key in ANSWERS) or any("rows" in s for s in case.get("statements", []))):
            continue
        for key in ANSWERS:
            case.pop(key, None)
        asked = time.time()
        ask = ask_query if "query" in case else ask_error if "statement" in case else ask_statements
        ask(case, tables)
        print(f"{time.time() - asked:5.1f} s  {case['id']}  {case.get('error', '')}", flush=True)
        write(path, data)


def write(path: Path, data: dict[str, Any]) -> None:
    """One line per case, so that a change of one answer is a change of one line."""
    tables = ",\n".join(
        f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in data.get("tables", {}).items()
    )
    cases = ",\n".join(json.dumps(case, ensure_ascii=False) for case in data["cases"])
    path.write_text(f'{{"tables": {{\n{tables}\n}},\n"cases": [\n{cases}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    words = sys.argv[1:]
    SETTINGS.update(cluster())
    for name in words:
        if name != "--again":
            record(Path(name), "--again" in words)
