"""Computes the delay between a view of an advertisement and its click: an interval join, then campaign names from broadcast state.

penstock run examples/click_delays.py
"""

import penstock as ps

VIEWS = [
    ("ad1", "ann", 1_000),
    ("ad2", "ann", 4_000),
    ("ad1", "bob", 9_900),
    ("ad2", "bob", 30_000),
]  # ad, user, time in ms
CLICKS = [("ad1", "ann", 3_500), ("ad1", "bob", 10_100), ("ad2", "ann", 25_000), ("ad2", "bob", 31_000)]
CAMPAIGNS = [("ad1", "shoes"), ("ad2", "hats")]

NAMES = ps.MapStateDescriptor("names", str, str)


class Delay(ps.ProcessJoinFunction):
    def process_element(self, view, click, ctx):
        yield view[0], view[1], ctx.get_right_timestamp() - ctx.get_left_timestamp()


class AddCampaignName(ps.BroadcastProcessFunction):
    def process_element(self, delay, ctx):
        ad, user, millis = delay
        yield f"{user} clicked on {ctx.get_broadcast_state(NAMES).get(ad)} after {millis} ms"

    def process_broadcast_element(self, campaign, ctx):
        ctx.get_broadcast_state(NAMES).put(*campaign)


env = ps.StreamExecutionEnvironment.get_execution_environment()
in_order = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[2])
views, clicks = (env.from_collection(events).assign_timestamps_and_watermarks(in_order) for events in (VIEWS, CLICKS))
delays = (
    views.key_by(lambda view: view[:2])
    .interval_join(clicks.key_by(lambda click: click[:2]))
    .between(ps.Duration.of_seconds(0), ps.Duration.of_seconds(5))
    .process(Delay())
)
campaigns = env.from_collection(CAMPAIGNS).broadcast(NAMES)
delays.connect(campaigns).process(AddCampaignName()).print()
env.execute("click delays")
