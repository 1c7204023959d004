"""Outputs that sinks deliver to the driver program."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.connectors import CollectSink, PrintSink
from penstock.spark.job.driver_outputs import FolderOutputs
from penstock.spark.report.run_folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    (tmp_path / "driver-outputs").mkdir()
    return RunFolder(tmp_path)


def test_outputs_are_collected_and_printed(folder: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = FolderOutputs([CollectSink(), PrintSink()], folder)
    folder.write_driver_outputs(0, {0: ["a"], 1: ["printed"]})
    folder.write_driver_outputs(1, {0: ["b"]})
    assert list(outputs.deliver_new()) == [(0, {0: ["a"], 1: ["printed"]}), (1, {0: ["b"]})]
    assert outputs.collected(0) == ["a", "b"]
    assert outputs.collected(1) == []
    assert outputs.last_batch == 1
    assert capsys.readouterr().out == "printed\n"


def test_a_batch_that_runs_again_is_delivered_once(folder: RunFolder) -> None:
    outputs = FolderOutputs([CollectSink()], folder)
    for _ in range(2):
        folder.write_driver_outputs(0, {0: ["a"]})
        list(outputs.deliver_new())
    assert outputs.collected(0) == ["a"]
