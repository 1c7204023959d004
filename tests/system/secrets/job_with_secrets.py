"""A job whose source, function and sink use secrets, log them and optionally fail with them in the message.

Run as a program with a checkpoint folder and an output folder: one job that succeeds, and one that fails.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any

import penstock as ps
from penstock.connectors import Chunk, JsonLinesSink, NumberSequenceSource, Secret, SinkWriter, WriteTask
from penstock.connectors.secret import reveal_secrets, wrap_secrets

log = logging.getLogger("tests.secrets")
# Put together here, so that the text is in no file that the search for it could find.
TEXTS = {name: "-".join(("sEcReT", name, "0f", "the", "job")) for name in ("source", "function", "sink")}


class Guarded(NumberSequenceSource):
    """Reads with a password that it logs."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(0, 99, 50)
        self.options = wrap_secrets(options)

    def read(self, task: Any) -> Iterator[Chunk]:
        logging.getLogger("tests.secrets").info("reading with %s", reveal_secrets(self.options))
        assert reveal_secrets(self.options) == {"user": "app", "sasl.password": TEXTS["source"]}
        yield from super().read(task)


class Signed(ps.MapFunction[int, int]):
    """Fails with its key in the message."""

    def __init__(self, key: Secret, fails: bool) -> None:
        self.key = key
        self.fails = fails

    def map(self, value: int) -> int:
        if value == 75:
            log.warning("the key is %r", self.key.reveal())
            if self.fails:
                raise ValueError(f"signed with {self.key.reveal()} by {self.key}")
        return value


class GuardedSink(JsonLinesSink):
    """Writes with a token that it prints to the worker's error stream."""

    def __init__(self, folder: str, token: Secret) -> None:
        super().__init__(folder)
        self.token = token

    def writer(self, task: WriteTask) -> SinkWriter:
        assert self.token.reveal() == TEXTS["sink"]
        return super().writer(task)


def run(checkpoints: str, out: str, fails: bool) -> None:
    env = ps.StreamExecutionEnvironment.get_execution_environment(
        ps.Configuration({"execution.checkpointing.dir": checkpoints, "parallelism.default": 2})
    )
    source = Guarded({"user": "app", "sasl.password": TEXTS["source"]})
    stream = env.from_source(source, ps.WatermarkStrategy.no_watermarks(), "guarded")
    stream.map(Signed(Secret(TEXTS["function"]), fails)).sink_to(GuardedSink(out, Secret(TEXTS["sink"])))
    print(stream, env.get_execution_plan())
    env.execute("with secrets")


if __name__ == "__main__":
    checkpoints, out = sys.argv[1:3]
    run(checkpoints, out, fails=False)
    print("SUCCEEDED")
    run(checkpoints, out, fails=True)
