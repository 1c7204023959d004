"""Which operators and sinks read a source, directly or through other operators."""

from __future__ import annotations

from penstock.engine.program.program import Program
from penstock.engine.program.steps import SendStep, SinkStep, Step, all_steps


def source_readers(program: Program) -> dict[str, list[str]]:
    """Returns the uids of the operators and sinks that read each source, by its uid."""
    after: dict[int, set[str]] = {}
    by_number = {o.number: o for o in program.operators}

    def of_chains(chains: list[list[Step]]) -> set[str]:
        found: set[str] = set()
        for step in (step for chain in chains for step in all_steps(chain)):
            if isinstance(step, SinkStep):
                found.add(step.uid)
            elif isinstance(step, SendStep):
                found |= of_operator(step.operator)
        return found

    def of_operator(number: int) -> set[str]:
        if number not in after:
            operator = by_number[number]
            after[number] = {operator.uid}  # graphs have no cycles, but a chain may meet an operator twice
            after[number] |= of_chains([operator.chain, *operator.side_chains.values()])
        return after[number]

    return {s.uid: sorted(of_chains([s.chain, s.dead_letter_chain])) for s in program.sources}
