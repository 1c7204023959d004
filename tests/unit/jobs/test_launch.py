"""How a program was started: what is stored of it, and what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.config import OPTIONS_VARIABLE
from penstock.jobs.registry.launch import HiddenSecret, Launch, current_launch, job_options, without_secrets
from penstock.jobs.registry.launch_file import StoredLaunch, read_launch, write_launch
from penstock.jobs.registry.resume_command import resume_command
from tests.unit.jobs.jobs import entry


def test_where_a_run_starts_is_not_a_setting_of_the_job() -> None:
    start = {"execution.resume": "/old", "execution.savepoint.path": "/older", "parallelism.default": 2}
    assert job_options(start) == {"parallelism.default": 2}
    assert job_options({"execution.resume": "latest"}) == {"execution.resume": "latest"}


def test_the_launch_of_this_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "job.py"
    script.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(OPTIONS_VARIABLE, json.dumps({"state.checkpoints.dir": "ck", "spark.master": "local[2]"}))
    monkeypatch.setattr("sys.argv", ["job.py", "--topic", "t"])
    launch = current_launch({"execution.checkpointing.dir": "/data"})
    assert launch is not None
    assert (launch.script, launch.args, launch.folder) == (str(script), ["--topic", "t"], str(tmp_path))
    assert launch.options == {"spark.master": "local[2]", "execution.checkpointing.dir": "/data"}
    assert not launch.detached
    monkeypatch.setenv("PENSTOCK_DETACHED", "1")
    assert (background := current_launch()) is not None
    assert background.detached


@pytest.mark.parametrize("name", ["-c", "missing.py", "ipykernel_launcher.py", "pytest"])
def test_a_shell_and_a_notebook_have_no_launch(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ipykernel_launcher.py").touch()
    (tmp_path / "pytest").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [name])
    assert current_launch() is None


def test_a_folder_with_a_main_module_is_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "__main__.py").touch()
    monkeypatch.setattr("sys.argv", [str(tmp_path)])
    assert (launch := current_launch()) is not None
    assert launch.script == str(tmp_path)


SECRET = Launch(
    "job.py",
    ["--topic", "t", "--db-password", "sesame", "--api-token=12345", "redis://app:geheim@db"],
    "",
    {"spark.ssl.keyPassword": "open", "parallelism.default": 2},
)


def test_secrets_are_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "12345")
    monkeypatch.setenv("COLOUR", "sesame")  # not a variable of secrets
    stored = without_secrets(SECRET)
    assert stored.args == ["--topic", "t", "--db-password", "***", "--api-token=***", "redis://app:***@db"]
    assert stored.options == {"spark.ssl.keyPassword": "***", "parallelism.default": 2}
    assert stored.secrets == [
        HiddenSecret("--db-password", 3),
        HiddenSecret("--api-token=***", 4, "API_TOKEN"),
        HiddenSecret("redis://app:***@db", 5),
        HiddenSecret("spark.ssl.keyPassword"),
    ]
    (tmp_path / "penstock").mkdir()
    write_launch(str(tmp_path), StoredLaunch("7", "job", stored))
    text = (tmp_path / "penstock" / "launch.json").read_text()
    assert not any(secret in text for secret in ("sesame", "12345", "geheim", "open"))
    assert (read := read_launch(str(tmp_path))) is not None
    assert read.launch == stored


def test_a_secret_in_an_environment_variable_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "sesame")
    monkeypatch.setenv("API_TOKEN", "12345")
    stored = without_secrets(SECRET)
    assert [secret.name for secret in stored.missing_secrets()] == ["redis://app:***@db", "spark.ssl.keyPassword"]
    given = stored.changed({"spark.ssl.keyPassword": "open"})
    assert [secret.name for secret in given.missing_secrets()] == ["redis://app:***@db"]
    assert given.changed({}, ["other"]).missing_secrets() == []
    assert given.revealed().args[:5] == SECRET.args[:5]
    monkeypatch.setenv("DB_PASSWORD", "changed")
    assert given.revealed().args[3] == "changed"
    monkeypatch.delenv("DB_PASSWORD")
    assert "--db-password" in [secret.name for secret in given.missing_secrets()]


def test_an_unreadable_launch_file_counts_as_missing(tmp_path: Path) -> None:
    assert read_launch(str(tmp_path)) is None
    (tmp_path / "penstock").mkdir()
    for text in ("", "{", '{"job_id": 1}'):
        (tmp_path / "penstock" / "launch.json").write_text(text)
        assert read_launch(str(tmp_path)) is None


def test_the_command_that_resumes_a_job() -> None:
    launch = Launch("job.py", ["a b"], "/jobs")
    job_id = "0123456789abcdef"
    assert resume_command(entry(job_id, launch=launch)) == "penstock resume 0123456789ab"
    assert resume_command(entry(job_id)) == ""
    assert resume_command(entry(job_id, launch=launch, batch=True)) == ""
    assert resume_command(entry(job_id, launch=launch.changed({"execution.fork.plan": "/plan"}))) == ""
    elsewhere = launch.changed({"jobs.registry.dir": "/registry"})
    assert resume_command(entry(job_id, launch=elsewhere)) == f"penstock resume /checkpoints/{job_id}"
    assert resume_command(entry("7", launch=without_secrets(SECRET))) == (
        "penstock resume 7 -D 'spark.ssl.keyPassword=***' -- --topic t --db-password '***' '--api-token=***' "
        "'redis://app:***@db'"
    )
