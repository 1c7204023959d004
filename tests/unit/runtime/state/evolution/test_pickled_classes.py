"""Classes of the main module that were described on the driver are pickled to workers with their evolution."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import pickle
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import penstock as ps
from penstock.runtime.state.codec import codec_of
from penstock.runtime.state.evolution.describe import describe
from penstock.engine.program.pickling import pickle_by_value


@ps.state_type(version=2, aliases={"n": "m"}, migrate=lambda version, old: Kept(version))
@dataclass
class Kept:
    n: int


class Pair(NamedTuple):
    x: int


@ps.state_type(aliases={"how_many": "count"})
class Part(msgspec.Struct, rename="camel"):
    how_many: int
    unit_name: str = "pieces"


for kind, value in ((Kept, Kept(1)), (Pair, Pair(1)), (Part, Part(1))):
    type_info = ps.Types.of(kind)
    stored = codec_of(type_info).encode(value)
    again = pickle.loads(pickle_by_value(type_info))
    assert describe(again) == describe(type_info), kind
    assert describe(again).binding.evolution.aliases == describe(type_info).binding.evolution.aliases
    assert codec_of(again).encode(codec_of(again).decode(stored)) == stored
print("travelled")
"""


def test_classes_of_the_main_module_can_be_pickled() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.stdout == "travelled\n", done.stderr
