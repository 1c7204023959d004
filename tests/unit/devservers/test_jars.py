"""The cache of jars, with a repository in a folder of the test."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.devservers import ivy, jars
from penstock.devservers.java import check_java
from penstock.devservers.versions import BUNDLES, VERSIONS, chosen_versions, find_bundle
from penstock.errors import ConfigError
from tests.damage import NEED_ROOT, WAYS

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version><dependencies>{needs}</dependencies></project>"""
NEED = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
SPARK_KAFKA = [
    "org.apache.spark:spark-sql-kafka-0-10_2.13:1.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:1.0",
    "org.apache.kafka:kafka-clients:1.0",
    "org.apache.commons:commons-pool2:1.0",
]
OWN = {"spark-kafka": "1.0", "spark-token-provider": "1.0", "kafka-clients": "1.0", "commons-pool2": "1.0"}


def add_artifact(repository: Path, artifact: str, needs: str = "") -> None:
    group, name, version = artifact.split(":")
    folder = repository / group.replace(".", "/") / name / version
    folder.mkdir(parents=True)
    (folder / f"{name}-{version}.jar").write_bytes(f"jar of {artifact}".encode())
    need = NEED.format(*needs.split(":")) if needs else ""
    (folder / f"{name}-{version}.pom").write_text(POM.format(group=group, name=name, version=version, needs=need))


def create_repository(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Creates a repository of jars and an empty cache, which are used until the test ends."""
    folder = root / "repository"
    settings = root / "ivysettings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="own"/><resolvers>'
        f'<ibiblio name="own" m2compatible="true" root="{folder.as_uri()}"/></resolvers></ivysettings>'
    )
    monkeypatch.setenv("PENSTOCK_IVY_SETTINGS", str(settings))
    monkeypatch.setenv("PENSTOCK_CACHE", str(root / "cache"))
    for artifact in SPARK_KAFKA:
        add_artifact(folder, artifact)
    return folder


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return create_repository(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def filled_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with downloaded jars. Each download starts a JVM."""
    folder = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as monkeypatch:
        create_repository(folder, monkeypatch)
        jars.get_jars("spark-kafka", OWN)
    return folder / "cache"


def test_cached_jars_need_no_repository(repository: Path) -> None:
    steps: list[str] = []
    first = jars.get_jars("spark-kafka", OWN, steps.append)
    names = sorted(f"{a.split(':')[1]}-1.0.jar" for a in SPARK_KAFKA)
    assert (first.fetched, [f.name for f in first.files], sorted(steps)) == (True, names, names)
    repository.rename(repository.parent / "gone")
    again = jars.get_jars("spark-kafka", OWN, steps.append)
    assert (again.fetched, again.files, len(steps)) == (False, first.files, len(names))


def test_transitive_includes_dependencies(repository: Path, tmp_path: Path) -> None:
    add_artifact(repository, "own:one:1", needs="own:two:2")
    add_artifact(repository, "own:two:2")
    ivy.fetch("all", ["own:one:1"], True, tmp_path / "all", lambda step: None)
    ivy.fetch("one", ["own:one:1"], False, tmp_path / "one", lambda step: None)
    assert sorted(f.name for f in (tmp_path / "all").iterdir()) == ["one-1.jar", "two-2.jar"]
    assert sorted(f.name for f in (tmp_path / "one").iterdir()) == ["one-1.jar"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["commons-pool2-1.0.jar", "checksums.json"])
def test_damaged_jars_are_downloaded_again(name: str, way: str, filled_cache: Path, tmp_path: Path) -> None:
    if way in NEED_ROOT:
        pytest.skip("root can read such files")
    shutil.copytree(filled_cache, tmp_path / "cache")
    found = jars.get_jars("spark-kafka", OWN)
    assert not found.fetched
    WAYS[way](found.folder / name)
    again = jars.get_jars("spark-kafka", OWN)
    assert again.fetched or way == "of a future version"
    assert [jars._checksum(file) for file in again.files] == list(jars.recorded_checksums(found.folder).values())


def test_a_downloaded_jar_must_have_the_known_checksum(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The table's own versions have known checksums: what comes from the network is not believed."""
    folder = "spark-kafka-1.0-1.0-1.0-1.0"
    right = hashlib.sha256(b"jar of org.apache.commons:commons-pool2:1.0").hexdigest()
    monkeypatch.setattr(jars, "known_checksums", lambda: {folder: {"commons-pool2-1.0.jar": "0" * 64}})
    with pytest.raises(ConfigError, match=r"JARS_CHECKSUM.*the release of Penstock expects 000"):
        jars.get_jars("spark-kafka", OWN)
    assert not list((tmp_path / "cache" / "jars").iterdir())
    monkeypatch.setattr(jars, "known_checksums", lambda: {folder: {"commons-pool2-1.0.jar": right}})
    assert jars.get_jars("spark-kafka", OWN).fetched


def test_the_default_versions_have_known_checksums() -> None:
    known = jars.known_checksums()
    for name in BUNDLES:
        assert known[jars.bundle_folder(find_bundle(name), VERSIONS).name], "run scripts/lock_jars.py"


def test_an_unknown_version_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"JARS_NOT_FOUND.*kafka-clients;9\.9: not found.*Correct the version"):
        jars.get_jars("spark-kafka", {**OWN, "kafka-clients": "9.9"})


def test_a_missing_network_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = tmp_path / "ivysettings.xml"  # a port without a server
    settings.write_text(
        '<ivysettings><settings defaultResolver="own"/><resolvers>'
        '<ibiblio name="own" m2compatible="true" root="http://127.0.0.1:9/"/></resolvers></ivysettings>'
    )
    with pytest.raises(ConfigError, match=r"JARS_NO_NETWORK.*Run 'penstock jars spark-kafka' once with a network"):
        jars.get_jars("spark-kafka", OWN)


def test_missing_java_is_an_error_before_the_download(monkeypatch: pytest.MonkeyPatch) -> None:
    check_java.cache_clear()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(ConfigError, match="Install a JDK"):
        jars.get_jars("spark-kafka", OWN)
    check_java.cache_clear()


def test_versions_come_from_defaults_environment_and_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen_versions() == VERSIONS
    monkeypatch.setenv("PENSTOCK_VERSION_KAFKA", "4.1.0")
    assert chosen_versions()["kafka"] == "4.1.0"
    assert chosen_versions({"kafka": "4.0.0"})["kafka"] == "4.0.0"
    with pytest.raises(ConfigError, match=r"VERSION_UNKNOWN.*'kafak'.*kafka-clients"):
        chosen_versions({"kafak": "1"})


def test_the_command_downloads_and_lists() -> None:
    overrides = [part for name, version in OWN.items() for part in ("--version", f"{name}={version}")]
    done = CliRunner().invoke(app, ["jars", "spark-kafka", "--json", *overrides])
    output = json.loads(done.stdout)
    assert (output["fetched"], len(output["files"])) == (True, 4)
    done = CliRunner().invoke(app, ["jars", "spark-kafka", *overrides])
    assert "4 jars" in done.stdout
    assert "already in the cache, checksums verified" in done.stdout
    listed = json.loads(CliRunner().invoke(app, ["jars", "--json", *overrides]).stdout)["jars"]
    assert [name for name in listed if listed[name]["cached"]] == ["spark-kafka"]
    assert "penstock dev up kafka" in CliRunner().invoke(app, ["jars"]).stdout


def test_unknown_jars_are_an_error_that_lists_the_known_ones() -> None:
    done = CliRunner().invoke(app, ["jars", "kafka"])
    assert done.exit_code == 1
    assert "[JARS_UNKNOWN]" in done.stderr
    assert "kafka-server, spark-kafka" in done.stderr
