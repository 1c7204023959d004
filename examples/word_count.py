"""Counts the words in text files and writes the running counts as JSON lines, exactly once.

penstock run examples/word_count.py README.md /tmp/words
"""

import re
import sys

import penstock as ps
from penstock.connectors import FileSource, JsonLinesSink


def words(line):
    return re.findall(r"[a-z]+", line.lower())


def add(a, b):
    return a[0], a[1] + b[1]


def main(source, target):
    env = ps.StreamExecutionEnvironment.get_execution_environment()
    lines = env.from_source(FileSource(source), source_name="lines")
    counts = lines.flat_map(words).map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).reduce(add)
    counts.map(lambda pair: {"word": pair[0], "count": pair[1]}).sink_to(JsonLinesSink(target))
    env.execute("word count")


if __name__ == "__main__":
    main(*sys.argv[1:])
