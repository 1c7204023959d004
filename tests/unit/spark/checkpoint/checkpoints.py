"""Checkpoints as Spark leaves them, in small: its two logs, and files of state with Hadoop's checksums beside them."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path

EVERY = 512


def with_sums(file: Path, data: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    sums = [zlib.crc32(data[at : at + EVERY]) for at in range(0, len(data), EVERY)]
    (file.parent / f".{file.name}.crc").write_bytes(b"crc\0" + struct.pack(f">{1 + len(sums)}I", EVERY, *sums))
    return file


def offsets_entry(batch: int) -> bytes:
    return f'v1\n{{"batchTimestampMs":{1000 * batch}}}\n{{"n": {batch + 1}}}\n{{"n": {100 * (batch + 1)}}}'.encode()


def snapshot(folder: Path, version: int) -> None:
    shared = with_sums(folder / "SSTs" / f"{version:06d}-a.sst", bytes([version]) * 1500)
    told = {"sstFiles": [{"localFileName": "a", "dfsSstFileName": shared.name, "sizeBytes": 1500}]}
    file = folder / f"{version}.zip"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("metadata", f"v1\n{json.dumps(told)}")
    with_sums(file, file.read_bytes())


def checkpoint(root: Path, committed: int, begun: int | None = None, snapshots: tuple[int, ...] = (1,)) -> Path:
    """With batches 0 to `committed` done and the next one begun, if `begun` says so; its folder `spark`."""
    (root / "penstock").mkdir(parents=True)
    (root / "penstock" / "job.json").write_text("{}")
    spark = root / "spark"
    with_sums(spark / "metadata", b'{"id":"18af1edb-d5ee-4536-b3cb-4af3feafaa54"}')
    for batch in range((committed if begun is None else begun) + 1):
        with_sums(spark / "offsets" / str(batch), offsets_entry(batch))
    for batch in range(committed + 1):
        with_sums(spark / "commits" / str(batch), b'v1\n{"nextBatchWatermarkMs":0}')
    for partition in "01":
        folder = spark / "state" / "0" / partition
        for version in range(1, committed + 2):
            with_sums(folder / f"{version}.changelog", f"changes of {version} in {partition}".encode() * 60)
        for version in snapshots:
            snapshot(folder, version)
    return spark
