"""A secret shows itself to nobody, and travels only with the program."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import cloudpickle
import pytest

import penstock as ps
from penstock.connectors import Secret
from penstock.connectors.secret import revealed, secrets_may_travel, with_secrets


def test_no_text_of_it_is_shown() -> None:
    secret = Secret("open sesame")
    for text in (repr(secret), str(secret), f"{secret}", f"{secret:>20}", f"{secret!r}", repr([secret])):
        assert "sesame" not in text
    with pytest.raises(TypeError):
        json.dumps(secret)
    assert not hasattr(secret, "__dict__")
    assert secret.reveal() == "open sesame"
    assert (secret == Secret("open sesame"), secret == "open sesame") == (True, False)


def test_it_is_not_written_out_with_elements_or_state() -> None:
    secret = Secret("open sesame")
    for write in (pickle.dumps, cloudpickle.dumps):
        with pytest.raises(ps.errors.ConfigError, match="SECRET_WRITTEN"):
            write([secret])
    assert copy.deepcopy([secret]) == [secret]
    with secrets_may_travel():
        travelled = pickle.loads(pickle.dumps(secret))
    assert travelled.reveal() == "open sesame"


def test_a_secret_of_the_environment_is_read_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = Secret.from_env("PENSTOCK_TEST_SECRET")
    with pytest.raises(ps.errors.ConfigError, match="PENSTOCK_TEST_SECRET"):
        secret.reveal()
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "of the environment")
    assert secret.reveal() == "of the environment"
    with secrets_may_travel():
        assert b"of the environment" not in pickle.dumps(secret)


def test_a_secret_of_a_file_is_read_where_it_is_used(tmp_path: Path) -> None:
    secret = Secret.from_file(tmp_path / "key")
    with pytest.raises(ps.errors.ConfigError, match="SECRET_NOT_FOUND"):
        secret.reveal()
    (tmp_path / "key").write_text("of a file\n")
    assert secret.reveal() == "of a file"


def test_only_text_can_be_a_secret() -> None:
    with pytest.raises(ps.errors.ConfigError, match="SECRET_TYPE") as told:
        Secret(b"sesame")  # type: ignore[arg-type]
    assert "sesame" not in str(told.value)


def test_options_within_options_are_kept_hidden_too() -> None:
    given = {"endpoint": "e", "client": {"aws_secret_access_key": "of-the-bucket", "token": None}}
    kept = with_secrets(given)
    assert "of-the-bucket" not in repr(kept)
    assert revealed(kept) == given


def test_options_are_kept_with_their_secrets_hidden() -> None:
    given = {"bootstrap.servers": "h:1", "sasl.password": "pass-word", "ssl.key.password": Secret.from_env("X")}
    kept = with_secrets(given)
    assert "pass-word" not in repr(kept)
    assert kept["ssl.key.password"] is given["ssl.key.password"]
    assert revealed({"bootstrap.servers": "h:1", "sasl.password": kept["sasl.password"]}) == {
        "bootstrap.servers": "h:1",
        "sasl.password": "pass-word",
    }
