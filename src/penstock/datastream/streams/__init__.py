"""The streams of the DataStream API. Every method adds nodes to the plan and returns the resulting stream."""
