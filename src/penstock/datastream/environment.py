"""The `StreamExecutionEnvironment`, which creates streams and runs jobs."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from penstock.config import Configuration
from penstock.config.execution_options import AUTO_UIDS, JOB_NAME, OBJECT_REUSE, RUNTIME_MODE, WATERMARK_EMISSION
from penstock.config.rescale_options import RESCALED
from penstock.connectors.collection import CollectionSource, DataGeneratorSource, NumberSequenceSource
from penstock.connectors.file.source.source import FileSource
from penstock.connectors.source import Source
from penstock.datastream.dataframes import dataframe_source
from penstock.datastream.jobs.engine import load_engine
from penstock.datastream.jobs.job_client import JobClient
from penstock.datastream.jobs.job_result import JobExecutionResult
from penstock.datastream.settings.job_settings import JobSettings
from penstock.datastream.settings.modes import in_batch_mode
from penstock.datastream.settings.unused_options import unused_options
from penstock.datastream.streams.argument_checks import check_argument
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.streams.on_error import OnBadRecord, check_on_bad_record
from penstock.errors import PlanError, UnsupportedOperation, warn_ignored
from penstock.formats.bulk import BulkFormat
from penstock.plan.element_types import with_element_type
from penstock.plan.explain.json_plan import json_plan
from penstock.plan.graph import DEFAULT_NAME, JobGraph, limit_parallelism
from penstock.plan.nodes import Node, OperatorNode, PartitionNode, SideOutputNode, SourceNode, UnionNode
from penstock.row import Row
from penstock.time import WatermarkStrategy
from penstock.types import type_information
from penstock.types.check import convert_elements

T = TypeVar("T")

_log = logging.getLogger("penstock.job")
_WITHOUT_STATE = ("exchange", "materialize")
_WITHOUT_UID = (PartitionNode, SideOutputNode, UnionNode)


class StreamExecutionEnvironment(JobSettings):
    """Creates streams and runs the job that they form.

    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env.from_collection([1, 2, 3]).map(lambda x: x + 1).get_name()
    'map'
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration)
        self._nodes: list[Node] = []
        self._executed_count = 0  # number of nodes that belong to jobs already executed
        self._names: dict[str, int] = {}

    @staticmethod
    def get_execution_environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        """Creates an environment. Options come from the configuration, the command line and `PENSTOCK_OPTIONS`."""
        return StreamExecutionEnvironment(configuration)

    # -- sources

    def from_collection(self, collection: Iterable[T], type_info: Any = None) -> DataStream[T]:
        """Creates a stream of the elements of a collection. With `type_info`, the elements are converted to that type."""
        check_argument("from_collection", collection, Iterable, "a list or another iterable")
        values: list[Any] = list(collection)
        if type_info is not None:
            values = convert_elements("from_collection", user_line(), type_information(type_info), values)
        return self.from_source(CollectionSource(values), None, "collection", type_info)

    def from_sequence(self, start: int, end: int) -> DataStream[int]:
        """Creates a stream of the integers from `start` to `end`, both inclusive."""
        return self.from_source(NumberSequenceSource(start, end), None, "sequence")

    def from_generator(self, generator: Any, count: int | None = None, rate: float | None = None) -> DataStream[Any]:
        """Creates a stream of the results of `generator(0)`, `generator(1)`, ...

        The stream ends after `count` elements, or is unbounded without `count`. `rate` limits the elements per second.
        """
        return self.from_source(DataGeneratorSource(generator, count, rate), None, "generator")

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream[str]:
        """Creates a stream of the lines of a file, or of all files in a folder. From PyFlink 1.x."""
        if charset_name.upper().replace("-", "") != "UTF8":
            raise UnsupportedOperation(
                "CHARSET",
                f"read_text_file() got the charset {charset_name}, but reads only UTF-8. Convert the files to UTF-8.",
            )
        return self.from_source(FileSource(file_path), None, "text")

    def from_source(
        self,
        source: Source,
        watermark_strategy: WatermarkStrategy | None = None,
        source_name: str = "source",
        type_info: Any = None,
        *,
        on_error: OnBadRecord = "fail",
    ) -> DataStream[Any]:
        """Creates a stream of the elements of a source.

        Timestamps come from the source, or from the timestamp assigner of `watermark_strategy`. `on_error` determines what
        happens to a record that cannot be decoded. "fail" fails the job. "dead_letter" sends it to the side output
        DEAD_LETTERS with its bytes and its position, and also elements for which the timestamp assigner raises an error. "skip"
        drops and counts it.
        """
        check_on_bad_record(on_error)
        check_argument(
            "from_source",
            source,
            Source,
            "a Source, such as FileSource(path). For elements, use from_collection",
        )
        node = SourceNode(
            id=self.next_id(),
            name=source_name,
            uid=self.generate_uid(source_name),
            source=source,
            line=user_line(),
            output_type=type_info,
            on_error=on_error,
        )
        stream: DataStream[Any] = DataStream(self, self.add(node))
        if watermark_strategy is None:
            return stream
        timed = stream.assign_timestamps_and_watermarks(
            watermark_strategy, on_error="dead_letter" if on_error == "dead_letter" else "fail"
        )
        return timed._apply_setting("source", of_source=True)

    def from_dataframe(
        self,
        dataframe: Any,
        watermark_strategy: WatermarkStrategy | None = None,
        source_name: str = "dataframe",
        *,
        timestamp_column: str | None = None,
        split_by: Sequence[str] = (),
        position_column: str | None = None,
    ) -> DataStream[Row]:
        """Creates a stream of the rows of a streaming or batch Spark DataFrame.

        `timestamp_column` contains the timestamps of the rows. `split_by` are the columns that identify the splits of a
        streaming DataFrame, such as topic and partition, and `position_column` is the order of the rows within a split. Each
        split then has its own watermark. Without them, each task of a batch is a split that ends with the batch.
        """
        source = dataframe_source(dataframe, timestamp_column, split_by, position_column)
        return self.from_source(source, watermark_strategy, source_name)

    def spark_session(self) -> Any:
        """Returns the Spark session that runs the jobs: the active one, or a new one with the options of this environment."""
        session = getattr(load_engine(self.configuration), "session", None)
        if session is None:
            raise UnsupportedOperation(
                "NO_SPARK_SESSION", "There is no Spark session because this environment does not run jobs on Spark."
            )
        return session(self.configuration)

    def add_source(
        self, source_func: Any, source_name: str = "Custom Source", type_info: Any = None
    ) -> DataStream[Any]:
        """Creates a stream from a FlinkKafkaConsumer. Other source functions are Java classes and are not supported."""
        if (to_source := getattr(source_func, "to_source", None)) is not None:
            return self.from_source(to_source(), None, source_name, type_info)
        raise UnsupportedOperation(
            "SOURCE_FUNCTION",
            f"Source '{source_name}' is a SourceFunction, which is a Java class of Flink whose records cannot be replayed. "
            "Implement a Source and use from_source.",
        )

    def create_input(self, input_format: Any, type_info: Any = None) -> DataStream[Any]:
        """Creates a stream from an input format that contains its path, such as AvroInputFormat(path, schema)."""
        path = getattr(input_format, "path", None)
        if not isinstance(input_format, BulkFormat) or path is None:
            raise UnsupportedOperation(
                "INPUT_FORMAT",
                f"create_input() got {input_format!r:.80}; it takes a format that contains its path, such as AvroInputFormat(path, "
                "schema). Java formats of Flink are not supported. Use from_source with a file source.",
            )
        return self.from_source(FileSource(path, input_format), None, "input", type_info)

    # -- the graph

    def add(self, node: Node) -> Node:
        node = with_element_type(node, self._nodes)
        self._nodes.append(node)
        return node

    def replace(self, node: Node) -> Node:
        self._nodes[node.id] = node
        return node

    def nodes(self) -> Sequence[Node]:
        """Returns all nodes, in the order of their ids."""
        return self._nodes

    def next_id(self) -> int:
        return len(self._nodes)

    def generate_uid(self, name: str) -> str:
        """Returns a uid for a node without one. It consists of name and number, and is the same in every run of the program."""
        number = self._names[name] = self._names.get(name, 0) + 1
        return f"{name}-{number}"

    def graph(self, job_name: str | None = None) -> JobGraph:
        """Returns the graph of the job: all nodes added since the last execution, and their inputs."""
        nodes = self._nodes_to_run()
        name = job_name or self.configuration.get(JOB_NAME) or DEFAULT_NAME
        nodes = self._limit_parallelism(nodes)
        graph = JobGraph(name, tuple(nodes), self.get_parallelism(), self.get_max_parallelism(), self.job_parameters())
        batch_mode = in_batch_mode(graph, self.configuration.get(RUNTIME_MODE))
        graph = replace(
            graph,
            batch_mode=batch_mode,
            object_reuse=self.configuration.get(OBJECT_REUSE),
            periodic_watermarks=self.configuration.get(WATERMARK_EMISSION) == "per-batch",
            log_levels=self.log_levels(),
        )
        graph.validate()
        self._check_uids(nodes)
        for message in unused_options(self.configuration, graph):
            warn_ignored(message)
        return graph

    def _limit_parallelism(self, nodes: list[Node]) -> list[Node]:
        """Limits the parallelism of operators to the parallelism that `penstock rescale` set."""
        limit = self.configuration.get(RESCALED)
        return nodes if limit is None else list(limit_parallelism(nodes, limit))

    def _nodes_to_run(self) -> list[Node]:
        ids = {n.id for n in self._nodes[self._executed_count :]}
        for node in reversed(self._nodes):  # a node comes after its inputs
            if node.id in ids:
                ids.update(node.inputs)
        return [n for n in self._nodes if n.id in ids]

    def _check_uids(self, nodes: list[Node]) -> None:
        if self.configuration.get(AUTO_UIDS):
            return
        for node in nodes:
            if not isinstance(node, _WITHOUT_UID) and not node.named:
                raise PlanError(
                    "NO_UID",
                    f"Operator '{node.name}' ({node.line}) has no uid, and {AUTO_UIDS.key} is false. Set one with uid().",
                )

    def _warn_about_generated_uids(self, graph: JobGraph) -> None:
        """Logs operators with state and a generated uid. After a change of the program, it may belong to another operator."""
        without_uid = [n for n in graph.operators if not n.named and _may_keep_state(n)]
        if without_uid and not graph.batch_mode:
            _log.warning(
                "These operators of job '%s' have state but no uid: %s. A changed program may not find their state in a savepoint. "
                "Set a uid for each of them with uid().",
                graph.name,
                ", ".join(f"'{n.name}' ({n.line})" for n in without_uid),
            )

    def get_execution_plan(self) -> str:
        """Returns the job graph as JSON, in the format of Flink's plan visualizer."""
        return json_plan(self.graph())

    # -- running

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Runs the job until its sources end, and returns its result.

        Streams that are created afterwards belong to the next job.
        """
        graph = self._take_graph(job_name)
        return load_engine(self.configuration).execute(graph, self.configuration.copy(), self.files)

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Starts the job and returns a client immediately.

        The job ends with the program, so wait for the result before the program ends.
        """
        graph = self._take_graph(job_name)
        return load_engine(self.configuration).execute_async(graph, self.configuration.copy(), self.files)

    def collect(self, node: Node, job_name: str | None) -> Iterator[Any]:
        graph = self._take_graph(job_name)
        return load_engine(self.configuration).collect(graph, self.configuration.copy(), self.files)

    def _take_graph(self, job_name: str | None) -> JobGraph:
        graph = self.graph(job_name)
        self._warn_about_generated_uids(graph)
        self._executed_count = len(self._nodes)
        return graph

    def close(self) -> None:
        """Discards streams that were not executed. Running jobs and the Spark session are not affected."""
        self._executed_count = len(self._nodes)


def user_line() -> str:
    """Returns the file and line of the user code that is currently executed."""
    package = os.path.dirname(os.path.dirname(__file__))
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _may_keep_state(node: OperatorNode) -> bool:
    function = getattr(node.spec, "function", None)
    return node.spec.kind not in _WITHOUT_STATE and bool(getattr(function, "may_keep_state", True))
