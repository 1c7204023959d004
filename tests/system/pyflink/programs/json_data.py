"""Elements that are pairs of a number and a dict."""

import json

from people import PEOPLE, lives_in_china
from pyflink.datastream import StreamExecutionEnvironment


def parsed(pair):
    data = json.loads(pair[1])
    data["tel"] += 1
    return pair[0], data


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(PEOPLE).map(parsed).filter(lives_in_china).print()
    env.execute()
