"""The place where a job is put together and run."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from penstock.config import AUTO_UIDS, JOB_NAME, RESCALED, RUNTIME_MODE, Configuration
from penstock.connectors.collection import CollectionSource, DataGeneratorSource, NumberSequenceSource
from penstock.connectors.file.source import FileSource
from penstock.connectors.source import Source
from penstock.datastream.checked_function import check_given
from penstock.datastream.data_stream import DataStream
from penstock.datastream.dataframes import dataframe_source
from penstock.datastream.engine import engine_of
from penstock.datastream.job_client import JobClient
from penstock.datastream.job_result import JobExecutionResult
from penstock.datastream.modes import in_batch_mode
from penstock.datastream.on_error import OnBadRecord, check_on_bad_record
from penstock.datastream.settings import JobSettings
from penstock.errors import PlanError, UnsupportedOperation
from penstock.formats.bulk import BulkFormat
from penstock.plan.element_types import typed
from penstock.plan.graph import JobGraph
from penstock.plan.json_plan import json_plan
from penstock.plan.nodes import Node, OperatorNode, PartitionNode, SideOutputNode, SourceNode, UnionNode
from penstock.row import Row
from penstock.time import WatermarkStrategy
from penstock.types import type_information
from penstock.types.check import checked

T = TypeVar("T")

_log = logging.getLogger("penstock.job")
_WITHOUT_STATE = ("exchange", "materialize")
_WITHOUT_UID = (PartitionNode, SideOutputNode, UnionNode)


class StreamExecutionEnvironment(JobSettings):
    """Makes streams and runs the job made of them.

    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> env.from_collection([1, 2, 3]).map(lambda x: x + 1).get_name()
    'map'
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration)
        self._nodes: list[Node] = []
        self._run_before = 0  # so many of the nodes were in a job that was run
        self._names: dict[str, int] = {}

    @staticmethod
    def get_execution_environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        """An environment to build a job in; it takes the options of the command line and of `PENSTOCK_OPTIONS`."""
        return StreamExecutionEnvironment(configuration)

    # -- sources

    def from_collection(self, collection: Iterable[T], type_info: Any = None) -> DataStream[T]:
        """The elements of a collection; with a type, converted to it at once."""
        check_given("from_collection", collection, Iterable, "a list, or anything else that can be iterated")
        values: list[Any] = list(collection)
        if type_info is not None:
            values = checked("from_collection", user_line(), type_information(type_info), values)
        return self.from_source(CollectionSource(values), None, "collection", type_info)

    def from_sequence(self, start: int, end: int) -> DataStream[int]:
        """The whole numbers from start to end, both included."""
        return self.from_source(NumberSequenceSource(start, end), None, "sequence")

    def from_generator(self, generator: Any, count: int | None = None, rate: float | None = None) -> DataStream[Any]:
        """What a function gives for 0, 1, 2, ...: so many elements, or without an end; at most `rate` of them a
        second.
        """
        return self.from_source(DataGeneratorSource(generator, count, rate), None, "generator")

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream[str]:
        """The lines of a file, or of all files in a folder; of PyFlink before version 2."""
        if charset_name.upper().replace("-", "") != "UTF8":
            raise UnsupportedOperation(
                "CHARSET", f"Text in {charset_name} was asked for; only UTF-8 is read. Convert it."
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
        """The elements of a source, with its own timestamps or those of a strategy.

        A record that does not decode fails the job, or goes to the side output DEAD_LETTERS with its bytes and its place, or
        is dropped and counted: `on_error` decides. With "dead_letter" elements on which the timestamp assigner raises go there
        too.
        """
        check_on_bad_record(on_error)
        check_given(
            "from_source",
            source,
            Source,
            "a Source, such as FileSource(path); from_collection takes elements themselves",
        )
        node = SourceNode(
            id=self.next_id(),
            name=source_name,
            uid=self.unique(source_name),
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
        return timed._changed("source", of_source=True)

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
        """The rows of a DataFrame of Spark's, streaming or batch: any source that Spark has.

        `timestamp_column` gives the rows their timestamps. `split_by` names the columns that tell apart ordered parts of a
        stream, such as topic and partition, and `position_column` the order within them: each part then has a watermark of
        its own. Without them the tasks of a batch are parts that end with it.
        """
        source = dataframe_source(dataframe, timestamp_column, split_by, position_column)
        return self.from_source(source, watermark_strategy, source_name)

    def spark_session(self) -> Any:
        """The Spark session that jobs of this environment run in: the active one, or a new one with this environment's options."""
        session = getattr(engine_of(self.configuration), "session", None)
        if session is None:
            raise UnsupportedOperation(
                "NO_SPARK_SESSION", "Jobs of this environment do not run on Spark, so there is no session to give."
            )
        return session(self.configuration)

    def add_source(
        self, source_func: Any, source_name: str = "Custom Source", type_info: Any = None
    ) -> DataStream[Any]:
        """The old way to read Kafka, by a FlinkKafkaConsumer. Other source functions are Java classes, and not supported."""
        if (to_source := getattr(source_func, "to_source", None)) is not None:
            return self.from_source(to_source(), None, source_name, type_info)
        raise UnsupportedOperation(
            "SOURCE_FUNCTION",
            f"Source '{source_name}' is a SourceFunction: a Java class of Flink's that pushes records, which cannot be read twice. "
            "Write a Source and use from_source.",
        )

    def create_input(self, input_format: Any, type_info: Any = None) -> DataStream[Any]:
        """The elements of a format that knows its files, such as AvroInputFormat(path, schema)."""
        path = getattr(input_format, "path", None)
        if not isinstance(input_format, BulkFormat) or path is None:
            raise UnsupportedOperation(
                "INPUT_FORMAT",
                f"create_input got {input_format!r:.80}; it takes a format that knows its files, such as AvroInputFormat(path, "
                "schema). Flink's Java formats cannot run here: use from_source with a file source.",
            )
        return self.from_source(FileSource(path, input_format), None, "input", type_info)

    # -- the graph

    def add(self, node: Node) -> Node:
        node = typed(node, self._nodes)
        self._nodes.append(node)
        return node

    def replace(self, node: Node) -> Node:
        self._nodes[node.id] = node
        return node

    def nodes(self) -> Sequence[Node]:
        """All that was added, by id."""
        return self._nodes

    def next_id(self) -> int:
        return len(self._nodes)

    def unique(self, name: str) -> str:
        """A uid for a step without one: its name and number, the same every time the program is built."""
        number = self._names[name] = self._names.get(name, 0) + 1
        return f"{name}-{number}"

    def graph(self, job_name: str | None = None) -> JobGraph:
        """The job as it stands: what was added since the last one was run, and what that reads."""
        nodes = self._to_run()
        name = job_name or self.configuration.get(JOB_NAME) or "job"
        nodes = self._rescaled(nodes)
        graph = JobGraph(name, tuple(nodes), self.get_parallelism(), self.get_max_parallelism(), self.job_parameters())
        graph = replace(graph, batch=in_batch_mode(graph, self.configuration.get(RUNTIME_MODE)))
        graph.validate()
        self._check_uids(nodes)
        return graph

    def _rescaled(self, nodes: list[Node]) -> list[Node]:
        """Operators of a job that was given another parallelism than its program set: none may have more."""
        most = self.configuration.get(RESCALED)
        if most is None:
            return nodes
        return [
            replace(n, parallelism=most) if n.parallelism is not None and n.parallelism > most else n for n in nodes
        ]

    def _to_run(self) -> list[Node]:
        wanted = {n.id for n in self._nodes[self._run_before :]}
        for node in reversed(self._nodes):  # inputs come before what reads them
            if node.id in wanted:
                wanted.update(node.inputs)
        return [n for n in self._nodes if n.id in wanted]

    def _check_uids(self, nodes: list[Node]) -> None:
        if self.configuration.get(AUTO_UIDS):
            return
        for node in nodes:
            if not isinstance(node, _WITHOUT_UID) and not node.named:
                raise PlanError(
                    "NO_UID",
                    f"'{node.name}' ({node.line}) has no uid of its own, and {AUTO_UIDS.key} is false. Give it one with uid().",
                )

    def _warn_of_made_uids(self, graph: JobGraph) -> None:
        """A savepoint's state is found by uid: one made from a name and number may be another operator's tomorrow."""
        nameless = [n for n in graph.operators if not n.named and _may_keep_state(n)]
        if nameless and not graph.batch:
            _log.warning(
                "These operators of job '%s' keep state and have no uid of their own: %s. A changed program may not find that "
                "state again in a savepoint: give each a name that stays, with uid().",
                graph.name,
                ", ".join(f"'{n.name}' ({n.line})" for n in nameless),
            )

    def get_execution_plan(self) -> str:
        """The job as JSON, in the form of Flink's plan visualizer."""
        return json_plan(self.graph())

    # -- running

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Runs the job until its sources end; gives its result. The next job begins with what is added after this."""
        graph = self._take_graph(job_name)
        return engine_of(self.configuration).execute(graph, self.configuration.copy(), self.files)

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Starts the job and gives a hold on it at once. It ends with the program: wait for its result before that."""
        graph = self._take_graph(job_name)
        return engine_of(self.configuration).execute_async(graph, self.configuration.copy(), self.files)

    def collect(self, node: Node, job_name: str | None) -> Iterator[Any]:
        graph = self._take_graph(job_name)
        return engine_of(self.configuration).collect(graph, self.configuration.copy(), self.files)

    def _take_graph(self, job_name: str | None) -> JobGraph:
        graph = self.graph(job_name)
        self._warn_of_made_uids(graph)
        self._run_before = len(self._nodes)
        return graph

    def close(self) -> None:
        """Forgets what was added and not run. Jobs that run go on, and so does the Spark session, which others may use."""
        self._run_before = len(self._nodes)


def user_line() -> str:
    """The file and line of the user's program that is being run."""
    package = os.path.dirname(os.path.dirname(__file__))
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _may_keep_state(node: OperatorNode) -> bool:
    function = getattr(node.spec, "function", None)
    return node.spec.kind not in _WITHOUT_STATE and bool(getattr(function, "may_keep_state", True))
