"""The example program of the README, which computes a running total per customer.

penstock run examples/totals.py
"""

import penstock as ps


class Total(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))

    def process_element(self, order, ctx):
        self.total.update((self.total.value() or 0) + order[1])
        yield order[0], self.total.value()


env = ps.StreamExecutionEnvironment.get_execution_environment()
env.from_collection([("ann", 5), ("bob", 7), ("ann", 3)]).key_by(lambda order: order[0]).process(Total()).print()
env.execute("totals")
