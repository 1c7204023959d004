"""Runs a chain over several chunks side by side, so that the elements of all of them wait for answers together."""

from __future__ import annotations

from collections.abc import Callable

from penstock.engine.chain import ChainRunner, Part
from penstock.engine.frames import Bundles
from penstock.engine.place import ChunkName
from penstock.engine.steps import Step, TransformStep, awaits, steps_behind, steps_beside


def run_together(
    runner: ChainRunner, steps: list[Step], parts: list[Part], enter: Callable[[ChunkName], None], out: Bundles
) -> None:
    """Runs the steps as far as the last asynchronous one for all chunks at a time, and the rest chunk by chunk.

    `enter` is called before a step works on a chunk.
    """
    for step in steps if parts else ():
        if not awaits(step):
            for flow, chunk in parts:
                enter(chunk)
                runner.run_step(step, flow, chunk, out)
            continue
        if isinstance(step, TransformStep) and step.kind == "async":
            done = runner.awaited(step, parts, enter)
        else:
            done = []
            for flow, chunk in parts:
                enter(chunk)
                done.append(runner.apply(step, flow, chunk, out))
        outcomes = [(after, sides, chunk) for (after, sides), (_, chunk) in zip(done, parts, strict=True)]
        main = [(after, chunk) for after, _, chunk in outcomes if after is not None]
        run_together(runner, steps_behind(step), main, enter, out)
        for tag, behind in steps_beside(step).items():
            aside = [(side, chunk) for _, sides, chunk in outcomes for of, side in sides if of == tag]
            run_together(runner, behind, aside, enter, out)
