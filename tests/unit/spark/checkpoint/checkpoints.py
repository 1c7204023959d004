"""Small checkpoints as Spark writes them: its two logs, and state files with Hadoop's checksums."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path

BYTES_PER_CHECKSUM = 512


def write_with_checksums(file: Path, data: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    checksums = [zlib.crc32(data[at : at + BYTES_PER_CHECKSUM]) for at in range(0, len(data), BYTES_PER_CHECKSUM)]
    (file.parent / f".{file.name}.crc").write_bytes(
        b"crc\0" + struct.pack(f">{1 + len(checksums)}I", BYTES_PER_CHECKSUM, *checksums)
    )
    return file


def offsets_entry(batch: int) -> bytes:
    return f'v1\n{{"batchTimestampMs":{1000 * batch}}}\n{{"n": {batch + 1}}}\n{{"n": {100 * (batch + 1)}}}'.encode()


def snapshot(folder: Path, version: int) -> None:
    shared = write_with_checksums(folder / "SSTs" / f"{version:06d}-a.sst", bytes([version]) * 1500)
    metadata = {"sstFiles": [{"localFileName": "a", "dfsSstFileName": shared.name, "sizeBytes": 1500}]}
    file = folder / f"{version}.zip"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("metadata", f"v1\n{json.dumps(metadata)}")
    write_with_checksums(file, file.read_bytes())


def checkpoint(root: Path, committed: int, started: int | None = None, snapshots: tuple[int, ...] = (1,)) -> Path:
    """Writes a checkpoint with batches 0 to `committed`, and offsets up to batch `started`. Returns its folder `spark`."""
    (root / "penstock").mkdir(parents=True)
    (root / "penstock" / "job.json").write_text("{}")
    spark = root / "spark"
    write_with_checksums(spark / "metadata", b'{"id":"18af1edb-d5ee-4536-b3cb-4af3feafaa54"}')
    for batch in range((committed if started is None else started) + 1):
        write_with_checksums(spark / "offsets" / str(batch), offsets_entry(batch))
    for batch in range(committed + 1):
        write_with_checksums(spark / "commits" / str(batch), b'v1\n{"nextBatchWatermarkMs":0}')
    for partition in "01":
        folder = spark / "state" / "0" / partition
        for version in range(1, committed + 2):
            write_with_checksums(folder / f"{version}.changelog", f"changes of {version} in {partition}".encode() * 60)
        for version in snapshots:
            snapshot(folder, version)
    return spark
