"""Runs a chain over several chunks, so that asynchronous calls for all of them run concurrently."""

from __future__ import annotations

from collections.abc import Callable

from penstock.engine.chain.chain import ChainRunner, ChunkFlow
from penstock.engine.program.steps import Step, TransformStep, downstream_steps, has_async_step, side_output_steps
from penstock.engine.program.subtask_context import ChunkPosition
from penstock.engine.wire.frames import Bundles


def run_chunks(
    runner: ChainRunner, steps: list[Step], parts: list[ChunkFlow], enter: Callable[[ChunkPosition], None], out: Bundles
) -> None:
    """Runs the steps up to the last asynchronous one for all chunks together, and the others chunk by chunk.

    `enter` is called before a step processes a chunk.
    """
    for step in steps if parts else ():
        if not has_async_step(step):
            for flow, chunk in parts:
                enter(chunk)
                runner.run_step(step, flow, chunk, out)
            continue
        if isinstance(step, TransformStep) and step.kind == "async":
            done = runner.run_async(step, parts, enter)
        else:
            done = []
            for flow, chunk in parts:
                enter(chunk)
                done.append(runner.apply(step, flow, chunk, out))
        outcomes = [(after, sides, chunk) for (after, sides), (_, chunk) in zip(done, parts, strict=True)]
        main = [(after, chunk) for after, _, chunk in outcomes if after is not None]
        run_chunks(runner, downstream_steps(step), main, enter, out)
        runner.warn_unread(step, [side for _, sides, _ in outcomes for side in sides])
        for tag, readers in side_output_steps(step).items():
            side_parts = [(side, chunk) for _, sides, chunk in outcomes for side_tag, side in sides if side_tag == tag]
            run_chunks(runner, readers, side_parts, enter, out)
