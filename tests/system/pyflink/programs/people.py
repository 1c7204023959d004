"""Maps, filters and a running sum over rows that hold JSON."""

import json

from pyflink.common import TypeInformation, Types
from pyflink.datastream import StreamExecutionEnvironment

PEOPLE = [
    (1, '{"name": "Flink", "tel": 123, "addr": {"country": "Germany", "city": "Berlin"}}'),
    (2, '{"name": "hello", "tel": 135, "addr": {"country": "China", "city": "Shanghai"}}'),
    (3, '{"name": "world", "tel": 124, "addr": {"country": "USA", "city": "NewYork"}}'),
    (4, '{"name": "PyFlink", "tel": 32, "addr": {"country": "China", "city": "Hangzhou"}}'),
]


def dial_next(person):
    data = json.loads(person.info)
    data["tel"] += 1
    return person.id, json.dumps(data)


def country_and_tel(person):
    data = json.loads(person.info)
    return data["addr"]["country"], data["tel"]


def lives_in_china(pair):
    """For another program: a worker imports this module then, and PyFlink's with it."""
    return isinstance(Types.INT(), TypeInformation) and "China" in pair[1]["addr"]["country"]


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    people = env.from_collection(PEOPLE, type_info=Types.ROW_NAMED(["id", "info"], [Types.INT(), Types.STRING()]))
    for stream in (
        people.map(dial_next),
        people.filter(lambda person: person.id == 1).map(dial_next),
        people.map(country_and_tel).key_by(lambda pair: pair[0]).sum(1),
    ):
        stream.print()
        env.execute()
