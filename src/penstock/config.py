"""All options, in one registry: key, type, default, and what it does."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Option:
    """One option."""

    key: str
    kind: type
    default: Any
    doc: str


OPTIONS_VARIABLE = "PENSTOCK_OPTIONS"

_OPTIONS: dict[str, Option] = {}


def _option(key: str, kind: type, default: Any, doc: str) -> Option:
    option = _OPTIONS[key] = Option(key, kind, default, doc)
    return option


ENGINE = _option("execution.engine", str, "penstock.spark.engine:SparkEngine", "What runs a job: module:class.")
MASTER = _option("spark.master", str, "local[*]", "The Spark master that jobs run on when no session is active.")
CHECKPOINT_DIR = _option(
    "execution.checkpointing.dir", str, "", "Folder of the job's checkpoint; empty: one is made per job."
)
RESUME = _option("execution.resume", str, "", "Checkpoint folder to continue; empty: start with empty state.")
TRIGGER_INTERVAL = _option(
    "execution.trigger.interval", int, 0, "Least milliseconds between batches; 0: as soon as possible."
)
CHECKPOINT_INTERVAL = _option(
    "execution.checkpointing.interval", int, 0, "Asked-for checkpoint interval; every batch is one."
)
BATCH_RECORDS = _option(
    "source.batch.records", int, 0, "Most records a source admits to a batch; 0: the source's own default."
)
BACKEND = _option(
    "state.backend", str, "lmdb", "Working copy of state: lmdb, or hashmap (decoded values cached in the worker)."
)
LOCAL_DIR = _option(
    "state.local.dir", str, "", "Where working copies live on executors; empty: the system's temporary folder."
)
LOCAL_LIMIT = _option("state.local.size-limit", int, 64 << 30, "Most bytes of one slot's working copy.")
LOCAL_KEEP = _option(
    "state.local.keep-hours", int, 168, "Working copies unused for longer are removed when a job starts."
)
LOG_FRACTION = _option(
    "state.log.fraction", float, 0.5, "The log may grow to this fraction of the base before it is folded."
)
LOG_LEAST = _option(
    "state.log.least-bytes", int, 8 << 20, "The log of a slot is not folded while it is smaller than this."
)
FOLD_RATIO = _option("state.fold.ratio", float, 1.0, "Bytes folded per byte of a batch's changes while folding.")
RETAIN_BATCHES = _option("spark.batches-to-retain", int, 100, "How many batches back a checkpoint can be read.")
HEARTBEAT = _option(
    "execution.heartbeat", int, 0, "Run a batch at least every so many milliseconds; 0: only when needed."
)
JVM_OPTIONS = _option("spark.jvm-options", str, "", "Extra options of the driver's JVM.")


class Configuration:
    """Options of a job, checked against the registry. Those of the variable PENSTOCK_OPTIONS are its defaults.

    >>> Configuration({"execution.trigger.interval": "100"}).get(TRIGGER_INTERVAL)
    100
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = {}
        self._spark: dict[str, str] = {}
        for key, value in {**given_options(), **(values or {})}.items():
            self.set(key, value)

    def set(self, key: str, value: Any) -> Configuration:
        """Sets an option; keys of Spark's own (`spark.*`) are passed on to Spark."""
        option = _OPTIONS.get(key)
        if option is None:
            if key.startswith("spark."):
                self._spark[key] = str(value)
                return self
            near = difflib.get_close_matches(key, _OPTIONS, 1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise ConfigError(
                "UNKNOWN_OPTION", f"There is no option '{key}'.{hint} docs/reference/options.md lists them all."
            )
        self._values[key] = _parse(option, value)
        return self

    set_string = set_integer = set_boolean = set

    def get(self, option: Option) -> Any:
        return self._values.get(option.key, option.default)

    def is_set(self, option: Option) -> bool:
        """Whether somebody chose a value for an option."""
        return option.key in self._values

    @property
    def spark(self) -> dict[str, str]:
        return dict(self._spark)

    def to_dict(self) -> dict[str, Any]:
        return dict(self._values)

    def copy(self) -> Configuration:
        copied = Configuration(self._values)
        copied._spark = dict(self._spark)
        return copied


def _parse(option: Option, value: Any) -> Any:
    readers: dict[type, Callable[[Any], Any]] = {bool: _boolean, int: int, float: float, str: str}
    try:
        return readers[option.kind](value)
    except ValueError as error:
        raise ConfigError(
            "OPTION_VALUE",
            f"Option '{option.key}' is {value!r}; a value of type {option.kind.__name__} is expected. {option.doc}",
        ) from error


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise ValueError(value)


def options() -> list[Option]:
    """Every option, by key."""
    return sorted(_OPTIONS.values(), key=lambda o: o.key)


def given_options() -> dict[str, Any]:
    """The options in the environment variable PENSTOCK_OPTIONS, a JSON object: what `penstock run` was given."""
    text = os.environ.get(OPTIONS_VARIABLE, "")
    try:
        given = json.loads(text or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise ConfigError(
            "OPTIONS_VARIABLE",
            f"The environment variable {OPTIONS_VARIABLE} is {text[:200]!r}; a JSON object of options is expected. "
            "Correct it or unset it.",
        )
    return given
