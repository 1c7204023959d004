"""The place where a job is put together and run."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

from penstock.config import CHECKPOINT_DIR, CHECKPOINT_INTERVAL, ENGINE, Configuration
from penstock.connectors.collection import CollectionSource, DataGeneratorSource, NumberSequenceSource
from penstock.connectors.source import Source
from penstock.datastream.data_stream import DataStream
from penstock.errors import ConfigError, PlanError
from penstock.plan.graph import JobGraph
from penstock.plan.nodes import Node, SourceNode
from penstock.time import WatermarkStrategy

T = TypeVar("T")


class Engine(Protocol):
    """What runs a job graph."""

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Any: ...

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]: ...

    def default_parallelism(self, configuration: Configuration) -> int: ...


class StreamExecutionEnvironment:
    """Makes streams and runs the job made of them.

    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env.from_collection([1, 2, 3]).map(lambda x: x + 1).get_name()
    'map'
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self.configuration = configuration.copy() if configuration is not None else Configuration()
        self._nodes: list[Node] = []
        self._parallelism: int | None = None
        self._max_parallelism = 128
        self._parameters: dict[str, str] = {}
        self._files: dict[str, list[str]] = {"files": [], "requirements": [], "archives": [], "jars": []}
        self._names: dict[str, int] = {}

    @staticmethod
    def get_execution_environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        return StreamExecutionEnvironment(configuration)

    # -- settings

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        if parallelism < 1:
            raise ConfigError("PARALLELISM", f"A parallelism of {parallelism} was set; it must be at least 1.")
        self._parallelism = parallelism
        return self

    def get_parallelism(self) -> int:
        return self._parallelism or self._engine().default_parallelism(self.configuration)

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        if not 1 <= max_parallelism <= 32768:
            raise ConfigError("MAX_PARALLELISM", f"max_parallelism is {max_parallelism}; it must be from 1 to 32768.")
        self._max_parallelism = max_parallelism
        return self

    def get_max_parallelism(self) -> int:
        return self._max_parallelism

    def enable_checkpointing(self, interval: int, folder: str | None = None) -> StreamExecutionEnvironment:
        """Every committed batch is a checkpoint, so this never delays output; it names the folder if one is given."""
        self.configuration.set(CHECKPOINT_INTERVAL.key, interval)
        if folder is not None:
            self.configuration.set(CHECKPOINT_DIR.key, folder)
        return self

    def set_job_parameters(self, parameters: dict[str, str]) -> StreamExecutionEnvironment:
        self._parameters = dict(parameters)
        return self

    def add_python_file(self, file_path: str) -> None:
        """Ships a module, a package folder or a zip to the executors."""
        self._files["files"].append(_existing(file_path))

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Installs the packages of a requirements file where functions run."""
        self._files["requirements"] = [_existing(requirements_file_path)]
        if requirements_cache_dir is not None:
            self._files["requirements"].append(_existing(requirements_cache_dir))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Ships an archive and unpacks it in the functions' working folder."""
        self._files["archives"].append(f"{_existing(archive_path)}#{target_dir or os.path.basename(archive_path)}")

    def add_jars(self, *jars_path: str) -> None:
        """Gives Spark more jars."""
        self._files["jars"].extend(jars_path)

    # -- sources

    def from_collection(self, collection: Sequence[T], type_info: Any = None) -> DataStream[T]:
        return self.from_source(CollectionSource(list(collection)), None, "collection")

    def from_sequence(self, start: int, end: int) -> DataStream[int]:
        return self.from_source(NumberSequenceSource(start, end), None, "sequence")

    def from_generator(self, generator: Any, count: int | None = None, rate: float | None = None) -> DataStream[Any]:
        return self.from_source(DataGeneratorSource(generator, count, rate), None, "generator")

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy | None = None,
        source_name: str = "source",
        type_info: Any = None,
    ) -> DataStream[Any]:
        node = SourceNode(
            id=self.next_id(), name=source_name, uid=self.unique(source_name), source=source, line=user_line()
        )
        stream: DataStream[Any] = DataStream(self, self.add(node))
        return stream if watermark_strategy is None else stream.assign_timestamps_and_watermarks(watermark_strategy)

    # -- the graph

    def add(self, node: Node) -> Node:
        self._nodes.append(node)
        return node

    def replace(self, node: Node) -> Node:
        self._nodes[node.id] = node
        return node

    def next_id(self) -> int:
        return len(self._nodes)

    def unique(self, name: str) -> str:
        """A uid for a step without one: its name and number, the same every time the program is built."""
        number = self._names[name] = self._names.get(name, 0) + 1
        return f"{name}-{number}"

    def graph(self, job_name: str = "job") -> JobGraph:
        """The job as it stands."""
        graph = JobGraph(
            job_name, tuple(self._nodes), self.get_parallelism(), self._max_parallelism, dict(self._parameters)
        )
        graph.validate()
        return graph

    # -- running

    def execute(self, job_name: str = "job") -> Any:
        """Runs the job until its sources end; gives its result."""
        return self._engine().execute(self.graph(job_name), self.configuration, self._files)

    def collect(self, node: Node, job_name: str) -> Iterator[Any]:
        return self._engine().collect(self.graph(job_name), self.configuration, self._files)

    def _engine(self) -> Engine:
        """The engine by its configured name: this layer builds plans and knows none."""
        module, _, name = self.configuration.get(ENGINE).partition(":")
        engine: Engine = getattr(importlib.import_module(module), name)()
        return engine


def user_line() -> str:
    """The file and line of the user's program that is being run."""
    package = os.path.dirname(os.path.dirname(__file__))
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _existing(path: str) -> str:
    if not os.path.exists(path):
        raise PlanError("FILE_NOT_FOUND", f"{path} was added to the job and does not exist. Correct the path.")
    return os.path.abspath(path)
