"""All sources and sinks pass the contract tests that users run on their own."""
