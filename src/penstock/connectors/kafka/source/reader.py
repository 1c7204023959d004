"""Reads offset ranges of Kafka partitions in tasks.

A range ends at an offset, not after a number of records, because transactions and compaction leave gaps. A range is complete when
its last offset was read, when a record after it was read, or when the client reports the end of the partition.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from penstock.connectors.kafka.client.client import confluent_kafka, log, permanent_error_codes, to_penstock_error
from penstock.connectors.kafka.protocol.value_block import ValueBlock, block_from_messages
from penstock.connectors.kafka.source.consumers import UNKNOWN_POSITION, CachedConsumer, Options, borrow_consumer
from penstock.connectors.kafka.source.planning import OffsetRange, PartitionKey, group_into_rounds
from penstock.errors import JobError, PenstockError

_FIRST_COUNT = 500  # messages in the first call, when their size is not known yet
_MAX_COUNT = 5_000  # messages in one call; more do not fit into the CPU cache
_MAX_BYTES = 16 << 20  # bytes in one call
_CONSUME_TIMEOUT = 0.005  # seconds after which the client returns the messages that it has


class RangeReader:
    """Reads offset ranges with one set of client options.

    `reset` decides what happens if the broker has deleted the start of a range: "none" fails, "earliest" continues with the
    remaining records, "latest" skips the range.
    """

    def __init__(self, options: Options, timeout: float, reset: str = "none") -> None:
        self._options = options
        self._timeout = timeout
        self._reset = reset

    def read(self, ranges: list[OffsetRange]) -> Iterator[tuple[OffsetRange, list[Any]]]:
        """Yields lists of messages. The messages of one range are in order."""
        with borrow_consumer(self._options, self._timeout) as consumer:
            yield from self._read_with_client(consumer, ranges)

    def read_values(self, ranges: list[OffsetRange], with_timestamps: bool) -> Iterator[tuple[OffsetRange, ValueBlock]]:
        """Yields blocks of record values. Reads directly from the brokers, and with the client library where that fails."""
        with borrow_consumer(self._options, self._timeout) as consumer:
            unread = ranges
            if consumer.direct is not None:
                unread = yield from consumer.direct.read(ranges, with_timestamps)
            for r, messages in self._read_with_client(consumer, unread):
                yield r, block_from_messages(messages, with_timestamps)

    def _read_with_client(
        self, consumer: CachedConsumer, ranges: list[OffsetRange]
    ) -> Iterator[tuple[OffsetRange, list[Any]]]:
        for group in group_into_rounds(ranges):
            by_partition = {r.key: r for r in group}
            consumer.assign({key: r.low for key, r in by_partition.items()})
            yield from self._read(consumer, by_partition)

    def _read(
        self, consumer: CachedConsumer, unread: dict[PartitionKey, OffsetRange]
    ) -> Iterator[tuple[OffsetRange, list[Any]]]:
        consume, positions, alone = consumer.client.consume, consumer.positions, len(unread) == 1
        count = _FIRST_COUNT
        deadline = time.monotonic() + self._timeout
        while unread:
            messages = consume(min(count, sum(r.high - positions[key] for key, r in unread.items())), _CONSUME_TIMEOUT)
            if not messages:
                if consumer.last_error.is_permanent() or time.monotonic() > deadline:
                    raise self._timeout_error(consumer, unread)
                continue
            deadline = time.monotonic() + self._timeout
            consumer.last_error.error = None  # it was temporary
            count = _next_count(messages)
            for part in _split_by_partition(messages, alone):
                key = (part[0].topic(), part[0].partition())
                r = unread.get(key)
                if part[0].error() is not None:
                    done = self._handle_event(part[0], r, consumer)
                elif r is None:
                    positions[key] = UNKNOWN_POSITION
                    continue
                else:
                    inside, done = _select_in_range(part, r, positions)
                    if inside:
                        yield r, inside
                if done:
                    del unread[key]
                    if unread:
                        consumer.pause(key)

    def _handle_event(self, message: Any, r: OffsetRange | None, consumer: CachedConsumer) -> bool:
        """Handles an event that the client reports for a partition. Returns whether the range is complete."""
        kafka = confluent_kafka().KafkaError
        error = message.error()
        code = error.code()
        if code == kafka._PARTITION_EOF:
            if r is None:
                return False
            consumer.positions[r.key] = max(consumer.positions[r.key], message.offset())
            return bool(message.offset() >= r.high)
        if code in (kafka._AUTO_OFFSET_RESET, kafka.OFFSET_OUT_OF_RANGE) and r is not None:
            return self._out_of_range(r, consumer)
        if error.fatal() or code in permanent_error_codes():
            raise to_penstock_error(error, self._options, f"read topic '{message.topic()}'", consumer.last_error.error)
        return False

    def _out_of_range(self, r: OffsetRange, consumer: CachedConsumer) -> bool:
        partition = confluent_kafka().TopicPartition(*r.key)
        low, high = consumer.client.get_watermark_offsets(partition, timeout=self._timeout, cached=False)
        if self._reset == "none" or high < r.high:
            raise out_of_range_error(r.topic, r.partition, r.low, low, high)
        log_gap(r.topic, r.partition, r.low, min(low, r.high), self._reset)
        if self._reset == "latest" or low >= r.high:
            consumer.positions[r.key] = UNKNOWN_POSITION
            return True
        consumer.seek(r.key, low)
        return False

    def _timeout_error(self, consumer: CachedConsumer, unread: dict[PartitionKey, OffsetRange]) -> PenstockError:
        key, r = next(iter(unread.items()))
        action = f"read partition {r.partition} of topic '{r.topic}' from offset {consumer.positions[key]} to {r.high}"
        kafka = confluent_kafka().KafkaError
        return to_penstock_error(kafka(kafka._TIMED_OUT), self._options, action, consumer.last_error.error)


def out_of_range_error(topic: str, partition: int, position: int, low: int, high: int) -> JobError:
    """Returns the error for a position that the broker no longer has."""
    return JobError(
        "KAFKA_OFFSET_OUT_OF_RANGE",
        f"The job continues at offset {position} of partition {partition} of topic '{topic}', but Kafka has only offsets {low} to "
        f"{high}. Records were deleted before they were read, or the topic was recreated. To continue with the first available "
        "record, call set_property('auto.offset.reset', 'earliest') on the source builder; 'latest' continues at the end.",
    )


def log_gap(topic: str, partition: int, low: int, high: int, reset: str) -> None:
    """Logs that the job skips records which were deleted before they were read."""
    log.warning(
        "Topic '%s', partition %d: offsets %d to %d were deleted from Kafka before they were read. The job skips them because "
        "auto.offset.reset=%s.",
        *(topic, partition, low, high, reset),
    )


def _next_count(messages: list[Any]) -> int:
    """Returns how many messages to consume next, so that they stay within _MAX_BYTES."""
    size = max(1, *(len(m.value() or b"") for m in (messages[0], messages[-1])))
    return max(1, min(_MAX_COUNT, _MAX_BYTES // size))


def _select_in_range(messages: list[Any], r: OffsetRange, positions: dict[PartitionKey, int]) -> tuple[list[Any], bool]:
    """Returns the messages that are in the range, and whether the range is complete."""
    next_offset = messages[-1].offset() + 1
    if next_offset <= r.high:
        positions[r.key] = next_offset
        return messages, next_offset == r.high
    positions[r.key] = UNKNOWN_POSITION
    return [m for m in messages if m.offset() < r.high], True


def _split_by_partition(messages: list[Any], alone: bool) -> list[list[Any]]:
    """Splits messages into runs of one partition. Each event that is not a record is a separate run."""
    if alone and not any(map(confluent_kafka().Message.error, messages)):
        return [messages]
    runs = groupby(
        enumerate(messages, 1), lambda m: (m[1].topic(), m[1].partition(), m[1].error() is not None and m[0])
    )
    return [[message for _, message in run] for _, run in runs]
