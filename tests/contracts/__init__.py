"""Every source and sink of ours keeps the contracts that users test theirs with."""
