"""Reads ranges of Kafka partitions where the data is processed.

A range ends at an offset, not after a number of records: transactions leave gaps, and so does compaction. That all of it was
seen is told by its last offset, by a record behind it, or by the end of the partition, which the client reports.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from penstock.connectors.kafka.blocks import Block, block_of
from penstock.connectors.kafka.client import confluent_kafka, final_codes, log, told
from penstock.connectors.kafka.consumers import LOST, KeptConsumer, Options, lent
from penstock.connectors.kafka.ranges import Key, Range, rounds
from penstock.errors import JobError, PenstockError

_FIRST = 500  # messages taken at first, until it is known how large they are
_MOST = 5_000  # more of them fall out of the processor's cache
_BYTES = 16 << 20
_WAIT = 0.005  # seconds after which the client gives less than was asked for


class RangeReader:
    """Reads ranges with one set of options.

    `reset` says what happens when the broker has deleted the start of a range: "none" fails, "earliest" goes on with what is
    left, "latest" leaves the range out.
    """

    def __init__(self, options: Options, timeout: float, reset: str = "none") -> None:
        self._options = options
        self._timeout = timeout
        self._reset = reset

    def read(self, ranges: list[Range]) -> Iterator[tuple[Range, list[Any]]]:
        """The messages of the ranges, some at a time; those of one range in order."""
        with lent(self._options, self._timeout) as consumer:
            yield from self._by_client(consumer, ranges)

    def read_values(self, ranges: list[Range], stamps_wanted: bool) -> Iterator[tuple[Range, Block]]:
        """The values of the ranges' records, some at a time: straight from the brokers, and by the client where that fails."""
        with lent(self._options, self._timeout) as consumer:
            left = ranges
            if consumer.direct is not None:
                left = yield from consumer.direct.read(ranges, stamps_wanted)
            for of, messages in self._by_client(consumer, left):
                yield of, block_of(messages, stamps_wanted)

    def _by_client(self, consumer: KeptConsumer, ranges: list[Range]) -> Iterator[tuple[Range, list[Any]]]:
        for some in rounds(ranges):
            now = {r.key: r for r in some}
            consumer.move({key: r.low for key, r in now.items()})
            yield from self._read(consumer, now)

    def _read(self, consumer: KeptConsumer, left: dict[Key, Range]) -> Iterator[tuple[Range, list[Any]]]:
        consume, at, alone = consumer.client.consume, consumer.at, len(left) == 1
        most = _FIRST
        deadline = time.monotonic() + self._timeout
        while left:
            messages = consume(min(most, sum(r.high - at[key] for key, r in left.items())), _WAIT)
            if not messages:
                if consumer.heard.is_final() or time.monotonic() > deadline:
                    raise self._silent(consumer, left)
                continue
            deadline = time.monotonic() + self._timeout
            consumer.heard.error = None  # it passed
            most = _next_count(messages)
            for part in _parts(messages, alone):
                key = (part[0].topic(), part[0].partition())
                wants = left.get(key)
                if part[0].error() is not None:
                    done = self._event(part[0], wants, consumer)
                elif wants is None:
                    at[key] = LOST
                    continue
                else:
                    inside, done = _inside(part, wants, at)
                    if inside:
                        yield wants, inside
                if done:
                    del left[key]
                    if left:
                        consumer.rest(key)

    def _event(self, message: Any, wants: Range | None, consumer: KeptConsumer) -> bool:
        """Whether a range is at its end, by what the client reports of its partition."""
        kafka = confluent_kafka().KafkaError
        error = message.error()
        code = error.code()
        if code == kafka._PARTITION_EOF:
            if wants is None:
                return False
            consumer.at[wants.key] = max(consumer.at[wants.key], message.offset())
            return bool(message.offset() >= wants.high)
        if code in (kafka._AUTO_OFFSET_RESET, kafka.OFFSET_OUT_OF_RANGE) and wants is not None:
            return self._out_of_range(wants, consumer)
        if error.fatal() or code in final_codes():
            raise told(error, self._options, f"read topic '{message.topic()}'", consumer.heard.error)
        return False

    def _out_of_range(self, wants: Range, consumer: KeptConsumer) -> bool:
        partition = confluent_kafka().TopicPartition(*wants.key)
        low, high = consumer.client.get_watermark_offsets(partition, timeout=self._timeout, cached=False)
        if self._reset == "none" or high < wants.high:
            raise out_of_range(wants.topic, wants.partition, wants.low, low, high)
        tell_gap(wants.topic, wants.partition, wants.low, min(low, wants.high), self._reset)
        if self._reset == "latest" or low >= wants.high:
            consumer.at[wants.key] = LOST
            return True
        consumer.again(wants.key, low)
        return False

    def _silent(self, consumer: KeptConsumer, left: dict[Key, Range]) -> PenstockError:
        key, wants = next(iter(left.items()))
        doing = (
            f"read partition {wants.partition} of topic '{wants.topic}' from offset {consumer.at[key]} to {wants.high}"
        )
        kafka = confluent_kafka().KafkaError
        return told(kafka(kafka._TIMED_OUT), self._options, doing, consumer.heard.error)


def out_of_range(topic: str, partition: int, wanted: int, low: int, high: int) -> JobError:
    """The error of a position that the broker does not have any more."""
    return JobError(
        "KAFKA_OFFSET_OUT_OF_RANGE",
        f"The job goes on at offset {wanted} of partition {partition} of topic '{topic}', and Kafka has offsets {low} to {high} "
        "only: records were deleted before they were read, or the topic was made anew. "
        "set_property('auto.offset.reset', 'earliest') goes on with what is left, 'latest' at the end.",
    )


def tell_gap(topic: str, partition: int, low: int, high: int, reset: str) -> None:
    """Records that nobody read are gone, and the job goes on: that is at least logged."""
    log.warning(
        "Topic '%s', partition %d: offsets %d to %d are gone from Kafka and were not read; the job goes on, as "
        "auto.offset.reset=%s says.",
        *(topic, partition, low, high, reset),
    )


def _next_count(messages: list[Any]) -> int:
    """How many messages to take next: about as many as fit into the memory meant for them."""
    size = max(1, *(len(m.value() or b"") for m in (messages[0], messages[-1])))
    return max(1, min(_MOST, _BYTES // size))


def _inside(messages: list[Any], wants: Range, at: dict[Key, int]) -> tuple[list[Any], bool]:
    """The messages that are in a range, and whether it is at its end."""
    behind = messages[-1].offset() + 1
    if behind <= wants.high:
        at[wants.key] = behind
        return messages, behind == wants.high
    at[wants.key] = LOST
    return [m for m in messages if m.offset() < wants.high], True


def _parts(messages: list[Any], alone: bool) -> list[list[Any]]:
    """Runs of messages of one partition. What is no record but an event stands alone."""
    if alone and not any(map(confluent_kafka().Message.error, messages)):
        return [messages]
    runs = groupby(
        enumerate(messages, 1), lambda m: (m[1].topic(), m[1].partition(), m[1].error() is not None and m[0])
    )
    return [[message for _, message in run] for _, run in runs]
