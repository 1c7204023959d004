"""The statements and commands of the pages about SQL print what the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.sql_pages import ROOT, Reader, steps
from tests.servers import Kafka

_HOW_TO = (
    "aggregate-in-windows-with-sql",
    "explain-a-query",
    "handle-bad-input-in-sql",
    "match-patterns-in-sql",
    "query-with-sql",
    "rank-and-deduplicate-with-sql",
    "work-with-changelogs",
)
PAGES = [ROOT / "docs" / "how-to" / f"{name}.md" for name in _HOW_TO]
TUTORIAL = ROOT / "docs" / "tutorials" / "first-query.md"
WITH_KAFKA = [page for page in PAGES if any("kafka" in step.words for step in steps(page))]


def _name(page: Path) -> str:
    return page.stem


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))


def _follow(page: Path, reader: Reader) -> None:
    try:
        for step in steps(page):
            reader.check(step)
    finally:
        reader.stop()


@pytest.mark.parametrize("page", [*PAGES, TUTORIAL], ids=_name)
def test_a_page(page: Path) -> None:
    _follow(page, Reader())


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_KAFKA, ids=_name)
def test_a_page_with_kafka(page: Path, kafka: Kafka) -> None:
    _follow(page, Reader(kafka.bootstrap))


@pytest.mark.long
def test_the_tutorial_without_spark(kafka: Kafka) -> None:
    _follow(TUTORIAL, Reader(kafka.bootstrap))


@pytest.mark.spark
@pytest.mark.long
def test_the_tutorial(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_OPTIONS", '{"spark.master": "local[2]"}')
    _follow(TUTORIAL, Reader(kafka.bootstrap, spark=True))
