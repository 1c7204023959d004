"""A module beside a job's own file."""

WORDS = ["sluice", "weir", "penstock", "turbine", "tailrace", "forebay", "surge", "intake"]
