"""A secret is never shown and is pickled only with the program."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import cloudpickle
import pytest

import penstock as ps
from penstock.connectors import Secret
from penstock.connectors.secret import allow_pickling_secrets, reveal_secrets, wrap_secrets


def test_value_is_not_shown() -> None:
    secret = Secret("open sesame")
    for text in (repr(secret), str(secret), f"{secret}", f"{secret:>20}", f"{secret!r}", repr([secret])):
        assert "sesame" not in text
    with pytest.raises(TypeError):
        json.dumps(secret)
    assert not hasattr(secret, "__dict__")
    assert secret.reveal() == "open sesame"
    assert (secret == Secret("open sesame"), secret == "open sesame") == (True, False)


def test_secret_is_not_pickled_with_elements_or_state() -> None:
    secret = Secret("open sesame")
    for write in (pickle.dumps, cloudpickle.dumps):
        with pytest.raises(ps.errors.ConfigError, match="SECRET_WRITTEN"):
            write([secret])
    assert copy.deepcopy([secret]) == [secret]
    with allow_pickling_secrets():
        travelled = pickle.loads(pickle.dumps(secret))
    assert travelled.reveal() == "open sesame"


def test_secret_from_env_is_read_on_use(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = Secret.from_env("PENSTOCK_TEST_SECRET")
    with pytest.raises(ps.errors.ConfigError, match="PENSTOCK_TEST_SECRET"):
        secret.reveal()
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "of the environment")
    assert secret.reveal() == "of the environment"
    with allow_pickling_secrets():
        assert b"of the environment" not in pickle.dumps(secret)


def test_secret_from_file_is_read_on_use(tmp_path: Path) -> None:
    secret = Secret.from_file(tmp_path / "key")
    with pytest.raises(ps.errors.ConfigError, match="SECRET_NOT_FOUND"):
        secret.reveal()
    (tmp_path / "key").write_text("of a file\n")
    assert secret.reveal() == "of a file"


def test_secret_must_be_a_str() -> None:
    with pytest.raises(ps.errors.ConfigError, match="SECRET_TYPE") as caught:
        Secret(b"sesame")  # type: ignore[arg-type]
    assert "sesame" not in str(caught.value)


def test_nested_options_are_redacted() -> None:
    options = {"endpoint": "e", "client": {"aws_secret_access_key": "of-the-bucket", "token": None}}
    wrapped = wrap_secrets(options)
    assert "of-the-bucket" not in repr(wrapped)
    assert reveal_secrets(wrapped) == options


def test_secret_options_are_redacted() -> None:
    options = {"bootstrap.servers": "h:1", "sasl.password": "pass-word", "ssl.key.password": Secret.from_env("X")}
    wrapped = wrap_secrets(options)
    assert "pass-word" not in repr(wrapped)
    assert wrapped["ssl.key.password"] is options["ssl.key.password"]
    assert reveal_secrets({"bootstrap.servers": "h:1", "sasl.password": wrapped["sasl.password"]}) == {
        "bootstrap.servers": "h:1",
        "sasl.password": "pass-word",
    }
