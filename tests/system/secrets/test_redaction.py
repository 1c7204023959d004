"""Secrets are redacted in all output of a process."""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.wire.log_capture import capture_logs
from penstock.errors import ConfigError
from penstock.jobs.run.log import append_lines
from penstock.redaction import is_secret, redact, redact_command, register_secret
from penstock.runtime.failure import function_error
from penstock.spark.session.error_transport import TransportedError, translate_error, wrap_errors

HERE = 'tr0ub4dor&3 "quoted" \\ ünd\n'


@settings(deadline=None)  # the texts of all examples are looked for
@given(st.text(min_size=6).filter(lambda t: not set(t) <= set("* ") and len(set(t)) > 3))
def test_secret_is_redacted_in_any_encoding(text: str) -> None:
    register_secret(text)
    for form in (text, quote(text, safe=""), repr(text), json.dumps(text, ensure_ascii=False)):
        assert text not in redact(f"before {form} after")
    redacted = redact(f"<{base64.b64encode(text.encode()).decode()}>")
    assert base64.b64encode(text.encode()).decode() not in redacted


def test_passwords_in_a_jaas_configuration_are_redacted() -> None:
    register_secret('org.apache.kafka.PlainLoginModule required username="application" password="jaas-pässword";')
    assert redact("user application gave jaas-pässword") == "user application gave ***"


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
def test_secret_options_are_recognised_by_name(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


def test_commands_are_stored_without_secret_options() -> None:
    typed = ["job.py", "--password=abcd", "-Dspark.x.token=abcd", "--secret", "abcd", "--password", "--other", "z"]
    redacted = redact_command(typed)
    assert redacted == [
        "job.py",
        "--password=***",
        "-Dspark.x.token=***",
        "--secret",
        "***",
        "--password",
        "--other",
        "z",
    ]


def test_errors_of_penstock_and_of_functions_contain_no_secrets() -> None:
    register_secret(HERE)
    assert HERE not in ConfigError("X", f"found {HERE}").text
    try:
        raise ValueError(f"refused: {HERE} or {HERE!r}")
    except ValueError as error:
        redacted = function_error(error, name="map", element=HERE)
    assert redacted.failed is not None
    for text in (str(redacted), redacted.failed.message, *redacted.__notes__):
        assert "tr0ub4dor" not in text
    assert "refused: *** or '***'" in str(redacted)


def test_errors_of_libraries_contain_no_secrets_or_causes_on_spark() -> None:
    register_secret("hunter2-hunter2")
    error = RuntimeError("no connection")
    error.__cause__ = OSError("connect(password=hunter2-hunter2)")
    with pytest.raises(TransportedError) as carried, wrap_errors():
        raise error
    assert carried.value.__cause__ is None
    assert carried.value.__suppress_context__
    arrived = translate_error(carried.value)
    assert "no connection" in str(arrived)
    assert "connect(password=***)" in arrived.__notes__[0]
    with pytest.raises(TransportedError) as harmless, wrap_errors():
        raise RuntimeError("no connection")
    assert harmless.value.__cause__ is not None


def test_logs_contain_no_secrets(tmp_path: Path) -> None:
    register_secret("hunter3-hunter3")
    lines: list[str] = []
    with capture_logs(lambda redacted: lines.extend(str(line) for line in redacted)):
        logging.getLogger("mine").info("logging in with %s", "hunter3-hunter3")
    assert lines == ["[ #0] logging in with ***"]
    append_lines(tmp_path / "log", "ended: hunter3-hunter3")
    assert "ended: ***" in (tmp_path / "log").read_text()


def test_short_secrets_are_not_redacted() -> None:
    register_secret("abc")
    assert redact("abcde") == "abcde"
