"""The versions of jars and servers. Each can be overridden."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import ConfigError

VERSIONS = {
    "kafka": "4.2.1",  # the broker
    "log4j": "2.25.4",  # the logger of the broker, in the version of its dependencies
    "scala": "2.13",  # the Scala version of Spark and of the broker
    "spark-kafka": "4.2.0",  # Kafka source and sink of Spark, in the version of Spark
    "spark-token-provider": "4.0.0",
    "kafka-clients": "3.9.2",  # the client that spark-kafka is built with
    "commons-pool2": "2.13.1",
    "spark-delta": "4.2",  # the version of Spark that the jars of Delta are built for
    "delta": "4.4.0",
    "hadoop": "3.5.0",  # the HDFS of the long tests, in the version of Spark's client
    "flink-kafka": "5.0.0-2.2",  # Kafka connector of Flink, for the comparison benchmarks
}


@dataclass(frozen=True, slots=True)
class Bundle:
    """Jars that are downloaded, cached and verified together."""

    name: str
    about: str
    artifacts: tuple[str, ...]  # organisation:name:version, with keys of VERSIONS in braces
    transitive: bool  # whether dependencies are included

    def resolved(self, versions: Mapping[str, str]) -> list[str]:
        """The artifacts with their versions.

        >>> BUNDLES["spark-kafka"].resolved(VERSIONS)[0]
        'org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0'
        """
        return [artifact.format_map(versions) for artifact in self.artifacts]


BUNDLES = {
    bundle.name: bundle
    for bundle in (
        Bundle(
            "kafka-server",
            "the broker of 'penstock dev up kafka'",
            ("org.apache.kafka:kafka_{scala}:{kafka}", "org.apache.logging.log4j:log4j-slf4j-impl:{log4j}"),
            transitive=True,
        ),
        Bundle(
            "spark-kafka",
            "Spark's own Kafka source and sink, for env.from_dataframe and ForeachBatchSink",
            (
                "org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark-kafka}",
                "org.apache.spark:spark-token-provider-kafka-0-10_{scala}:{spark-token-provider}",
                "org.apache.kafka:kafka-clients:{kafka-clients}",
                "org.apache.commons:commons-pool2:{commons-pool2}",
            ),
            transitive=False,  # Spark contains the other dependencies
        ),
        Bundle(
            "delta",
            "tables of Delta in catalogs of Spark",
            ("io.delta:delta-spark_{spark-delta}_{scala}:{delta}", "io.delta:delta-storage:{delta}"),
            transitive=False,  # Spark contains what tables without Unity Catalog need
        ),
        Bundle(
            "hdfs-server",
            "the NameNode and DataNode of the long tests",
            (
                "org.apache.hadoop:hadoop-client-minicluster:{hadoop}",
                "org.apache.logging.log4j:log4j-slf4j-impl:{log4j}",
            ),
            transitive=True,
        ),
        Bundle(
            "flink-kafka",
            "Flink's Kafka connector, for the comparison with Flink in 'make bench-yahoo'",
            ("org.apache.flink:flink-sql-connector-kafka:{flink-kafka}",),
            transitive=False,  # the jar contains its dependencies
        ),
    )
}


def version_variable(name: str) -> str:
    """The environment variable that overrides a version.

    >>> version_variable("kafka-clients")
    'PENSTOCK_VERSION_KAFKA_CLIENTS'
    """
    return f"PENSTOCK_VERSION_{name.upper().replace('-', '_')}"


def chosen_versions(overrides: Mapping[str, str] | None = None) -> dict[str, str]:
    """The versions to use. Environment variables override the defaults, and `overrides` override both."""
    versions = {name: os.environ.get(version_variable(name)) or version for name, version in VERSIONS.items()}
    for name, version in (overrides or {}).items():
        if name not in versions:
            raise ConfigError(
                "VERSION_UNKNOWN",
                f"There is no version '{name}'. Available names: {', '.join(sorted(VERSIONS))}. Example: kafka=4.2.1.",
            )
        versions[name] = version
    return versions


def find_bundle(name: str) -> Bundle:
    """Returns the bundle with this name."""
    if name not in BUNDLES:
        raise ConfigError(
            "JARS_UNKNOWN",
            f"There are no jars '{name}'. Available jars: {', '.join(sorted(BUNDLES))}.",
        )
    return BUNDLES[name]
