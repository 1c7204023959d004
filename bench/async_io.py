"""Asynchronous calls: 200,000 lookups of 50 ms, with 500 concurrent calls in each of two subtasks.

The ideal time is lookups x 50 ms / (capacity x subtasks), with the maximum number of calls always pending. It does not include
the start of a query, batches or other work. The time of a contender is that of the whole job, from `execute` to its end, in a
session that is already running.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import measure

import penstock as ps
from penstock.connectors import DataGeneratorSource, DiscardingSink
from penstock.spark.session.session import get_session

SECONDS = 0.05  # duration of a call
CAPACITY = 500
SUBTASKS = 2
TIMEOUT = ps.Time.seconds(30)


class SleepFunction(ps.AsyncFunction[int, int]):
    """(a) Waits as long as a call takes, without a call."""

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(SECONDS)
        return [value]


async def sleep_and_return(key: int) -> int:
    await asyncio.sleep(SECONDS)
    return key


class Client(asyncio.Protocol):
    """Sends concurrent requests over one connection. A request and a response are one line each; responses can have any order."""

    def __init__(self) -> None:
        self.pending: dict[bytes, asyncio.Future[bytes]] = {}
        self.rest = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            number, response = line.split(b" ")
            if (future := self.pending.pop(number, None)) is not None:
                future.set_result(response)

    async def request(self, number: int) -> bytes:
        key = b"%d" % number
        response = self.pending[key] = asyncio.get_running_loop().create_future()
        self.transport.write(key + b"\n")
        return await response


class RequestFunction(ps.AsyncFunction[int, int]):
    """(b) Calls a server on this machine, which responds after the same time."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def async_open(self, runtime_context: ps.RuntimeContext) -> None:
        _, self.client = await asyncio.get_running_loop().create_connection(Client, "127.0.0.1", self.port)

    async def async_invoke(self, value: int) -> list[int]:
        return [int(await self.client.request(value))]

    async def async_close(self) -> None:
        self.client.transport.close()


class ServerProtocol(asyncio.Protocol):
    """Returns each line after `SECONDS`."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        asyncio.get_running_loop().call_later(SECONDS, self.respond, lines)

    def respond(self, lines: list[bytes]) -> None:
        self.transport.write(b"".join(b"%b %b\n" % (line, line) for line in lines))


def serve(port_pipe: Any) -> None:
    async def forever() -> None:
        server = await asyncio.get_running_loop().create_server(ServerProtocol, "127.0.0.1", 0)
        port_pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


@contextlib.contextmanager
def server() -> Iterator[int]:
    """Runs a server in a separate process, and yields its port."""
    receiver, sender = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(sender,), daemon=True)
    process.start()
    yield receiver.recv()
    process.terminate()
    process.join()


def run(
    build: Callable[[ps.DataStream[int]], ps.DataStream[Any]], lookups: int, batches: int
) -> tuple[float, float, Any]:
    """Returns the seconds of a job, the seconds of its batches, and its result."""
    scratch = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    env = ps.StreamExecutionEnvironment(
        ps.Configuration({"execution.checkpointing.dir": str(scratch), "state.local.dir": str(scratch / "state")})
    ).set_parallelism(SUBTASKS)
    source = DataGeneratorSource(lambda n: n, lookups, records_per_batch=-(-lookups // batches))
    build(env.from_source(source)).name("ask").sink_to(DiscardingSink())
    began = time.perf_counter()
    result = env.execute()
    seconds = time.perf_counter() - began
    shutil.rmtree(scratch, ignore_errors=True)
    return seconds, sum(b["millis"]["triggerExecution"] for b in result.batches if b["read"]) / 1000, result


def on_stream(function: ps.AsyncFunction[int, int]) -> Callable[[ps.DataStream[int]], ps.DataStream[int]]:
    return lambda stream: ps.AsyncDataStream.unordered_wait(stream, function, TIMEOUT, CAPACITY)


def cached(distinct: int) -> Callable[[ps.DataStream[int]], ps.DataStream[Any]]:
    """(c) Of every hundred elements, `distinct` have a new key. The others repeat earlier keys."""

    def key(number: int) -> int:
        hundred, index = divmod(number, 100)
        return number if index < distinct else hundred // 2 * 100 + index % distinct

    return lambda stream: ps.cached_enrichment(stream, key, sleep_and_return, ps.Time.hours(1), TIMEOUT, CAPACITY)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--lookups", type=int, default=200_000)
    arguments.add_argument("--batches", type=int, default=4)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--repeated", type=int, default=33, help="elements of a hundred with a repeated key")
    options = arguments.parse_args()
    get_session(ps.Configuration({"spark.master": "local[2]"}))
    kinds = ("a asyncio.sleep", "b a server on this machine", f"c cached, {options.repeated} % repeated keys")
    calls = dict.fromkeys(kinds, options.lookups)
    batch_seconds: dict[str, list[float]] = {kind: [] for kind in kinds}

    def timed(kind: str, build: Callable[[ps.DataStream[int]], ps.DataStream[Any]]) -> float:
        seconds, of_batches, result = run(build, options.lookups, options.batches)
        calls[kind] = int(result.metrics.get("ask", "async.calls"))
        batch_seconds[kind].append(of_batches)
        return seconds

    with server() as port:
        builds = dict(
            zip(
                kinds,
                (on_stream(SleepFunction()), on_stream(RequestFunction(port)), cached(100 - options.repeated)),
                strict=True,
            )
        )
        for build in builds.values():
            run(build, 20_000, 2)  # warm-up of the session
        found = measure.alternate({kind: lambda k=kind: timed(k, builds[k]) for kind in kinds}, options.repeats)  # type: ignore[misc]
    ideal = {kind: count * SECONDS / (CAPACITY * SUBTASKS) for kind, count in calls.items()}
    medians, of_batches = measure.medians(found), measure.medians(batch_seconds)
    ratios = {kind: medians[kind] / ideal[kind] for kind in kinds}
    saved = 1 - calls[kinds[2]] / options.lookups
    measure.table(
        "async_io",
        ("contender", "elements", "calls", "ideal s", "median s of the job", "of its batches", "job / ideal", "runs"),
        [
            (
                k,
                options.lookups,
                calls[k],
                ideal[k],
                medians[k],
                of_batches[k],
                f"{ratios[k]:.2f}",
                [round(s, 2) for s in found[k]],
            )
            for k in kinds
        ],
    )
    measure.bars(
        "async_io",
        f"{options.lookups:,} lookups of 50 ms, {SUBTASKS} subtasks with {CAPACITY} concurrent calls",
        {"ideal": ideal[kinds[0]]} | medians,
        "seconds",
    )
    a, b, c = ratios.values()
    figures = {
        "lookups": options.lookups,
        "ideal s": ideal[kinds[0]],
        "a s": medians[kinds[0]],
        "a/ideal": a,
        "b/ideal": b,
    }
    figures |= {"c/ideal": c, "calls of c": calls[kinds[2]], "saved by c": saved}
    targets = {"a/ideal": (a, 1.5), "missed by c": (1 - saved, 0.7)}
    return measure.finish("async_io", figures, targets, lower_is_better=tuple(targets))


if __name__ == "__main__":
    sys.exit(main())
