"""Texts of secrets are replaced in all that a process tells."""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.logs import RUNNING, catching
from penstock.errors import ConfigError
from penstock.jobs.log import append
from penstock.redaction import hide, is_secret, redacted, redacted_command
from penstock.runtime.failure import failure
from penstock.spark.failure import CarriedError, carrying, in_our_words

HERE = 'tr0ub4dor&3 "quoted" \\ ünd\n'


@settings(deadline=None)  # the texts of all examples are looked for
@given(st.text(min_size=6).filter(lambda t: not set(t) <= set("* ") and len(set(t)) > 3))
def test_a_hidden_text_is_found_however_it_is_written(text: str) -> None:
    hide(text)
    for form in (text, quote(text, safe=""), repr(text), json.dumps(text, ensure_ascii=False)):
        assert text not in redacted(f"before {form} after")
    told = redacted(f"<{base64.b64encode(text.encode()).decode()}>")
    assert base64.b64encode(text.encode()).decode() not in told


def test_passwords_within_a_jaas_configuration_are_hidden_alone_too() -> None:
    hide('org.apache.kafka.PlainLoginModule required username="application" password="jaas-pässword";')
    assert redacted("user application gave jaas-pässword") == "user application gave ***"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("sasl.password", True),
        ("ssl.key.password", True),
        ("ssl.keystore.password", True),
        ("ssl.key.pem", True),
        ("ssl.keystore.key", True),
        ("sasl.jaas.config", True),
        ("sasl.oauthbearer.client.secret", True),
        ("sasl.oauthbearer.config", True),
        ("basic.auth.user.info", True),
        ("aws_secret_access_key", True),
        ("AWS_SESSION_TOKEN", True),
        ("api-key", True),
        ("passwd", True),
        ("ssl.key.location", False),
        ("ssl.keystore.location", False),
        ("ssl.keystore.type", False),
        ("sasl.oauthbearer.token.endpoint.url", False),
        ("sasl.username", False),
        ("bootstrap.servers", False),
        ("group.id", False),
        ("key.deserializer", False),
        ("max.poll.records", False),
    ],
)
def test_the_names_of_options_tell_which_are_secret(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


def test_commands_are_kept_without_the_values_of_secret_options() -> None:
    typed = ["job.py", "--password=abcd", "-Dspark.x.token=abcd", "--secret", "abcd", "--password", "--other", "z"]
    told = redacted_command(typed)
    assert told == ["job.py", "--password=***", "-Dspark.x.token=***", "--secret", "***", "--password", "--other", "z"]


def test_errors_of_ours_and_of_functions_are_told_without_secrets() -> None:
    hide(HERE)
    assert HERE not in ConfigError("X", f"found {HERE}").text
    try:
        raise ValueError(f"refused: {HERE} or {HERE!r}")
    except ValueError as error:
        told = failure(error, name="map", element=HERE)
    assert told.failed is not None
    for text in (str(told), told.failed.message, *told.__notes__):
        assert "tr0ub4dor" not in text
    assert "refused: *** or '***'" in str(told)


def test_errors_of_libraries_go_through_spark_without_secrets_and_without_their_causes() -> None:
    hide("hunter2-hunter2")
    error = RuntimeError("no connection")
    error.__cause__ = OSError("connect(password=hunter2-hunter2)")
    with pytest.raises(CarriedError) as carried, carrying():
        raise error
    assert carried.value.__cause__ is None
    assert carried.value.__suppress_context__
    arrived = in_our_words(carried.value)
    assert "no connection" in str(arrived)
    assert "connect(password=***)" in arrived.__notes__[0]
    with pytest.raises(CarriedError) as harmless, carrying():
        raise RuntimeError("no connection")
    assert harmless.value.__cause__ is not None


def test_log_lines_and_the_jobs_log_have_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RUNNING, "operator", "")  # another test may have run one in this process
    hide("hunter3-hunter3")
    lines: list[str] = []
    with catching(lambda told: lines.extend(str(line) for line in told)):
        logging.getLogger("mine").info("logging in with %s", "hunter3-hunter3")
    assert lines == ["[ #0] logging in with ***"]
    append(tmp_path / "log", "ended: hunter3-hunter3")
    assert "ended: ***" in (tmp_path / "log").read_text()


def test_short_texts_are_left_alone() -> None:
    hide("abc")
    assert redacted("abcde") == "abcde"
