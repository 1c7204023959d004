"""Creates the terminal screenshots in docs/images: runs commands in a pseudo terminal and draws their output.

python scripts/make_screenshots.py            draws all screenshots, in about two minutes
python scripts/make_screenshots.py cli-list   draws only the named ones. The job is run for all except cli-explain and
                                              the screenshots of diagnosis and checkpoints
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import shutil
import socket
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from penstock.jobs.registry.entry import JobEntry  # noqa: E402
from penstock.jobs.registry.history import CheckpointHistory  # noqa: E402
from penstock.jobs.registry.process import this_process  # noqa: E402
from penstock.jobs.registry.registry import Registry  # noqa: E402
from tests.unit.jobs.diagnosis.recorded import HISTORIES, read_recorded  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SHOP = Path("/tmp/shop")  # a short path, which is the same on every machine
COLUMNS, LINES = 116, 50
WITHOUT_SPARK = {"cli-diagnose", "cli-checkpoints", "cli-checkpoint"}

# Rich's Live clears its last frame before it draws the next one.
_NEW_FRAME = re.compile(r"(?:\r|\x1b\[1A)+\x1b\[2K(?:\x1b\[1A\x1b\[2K)*")
_CURSOR = re.compile(r"\x1b\[\?25[lh]")
_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)

ORDERS = """import penstock as ps
from penstock.connectors import DataGeneratorSource, DiscardingSink

MINUTE = 60_000
BEGIN = 1_767_258_000_000
LATE = ps.OutputTag("late")


class TotalPerMinute(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.totals = runtime_context.get_map_state(ps.MapStateDescriptor("totals", int, int))

    def process_element(self, order, ctx):
        customer, amount, time = order
        end = (time // MINUTE + 1) * MINUTE - 1
        if end <= ctx.timer_service().current_watermark():
            yield LATE, order
            return
        self.totals.put(end, (self.totals.get(end) or 0) + amount)
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.totals.get(timestamp)
        self.totals.remove(timestamp)


def order(i):
    lateness = 120_000 if i % 211 == 0 else i * 7919 % 4000
    return f"customer {i * 31 % 5000}", i % 90, BEGIN + i * 12 - lateness


def paid(order):
    if order[2] > CLOSED:
        raise ValueError("the shop is closed")
    return order[1] > 0


env = ps.StreamExecutionEnvironment.get_execution_environment()
in_time = ps.WatermarkStrategy.for_bounded_out_of_orderness(ps.Duration.of_seconds(5))
in_time = in_time.with_timestamp_assigner(lambda o, _: o[2])
orders = env.from_source(DataGeneratorSource(order, COUNT, records_per_batch=50_000), in_time, "orders")
totals = orders.filter(paid).name("paid").key_by(lambda o: o[0]).process(TotalPerMinute()).name("totals").uid("totals")
totals.filter(lambda t: t[1] > 80).name("large").sink_to(DiscardingSink()).name("mail")
totals.get_side_output(LATE).map(lambda o: o[0]).name("customer").sink_to(DiscardingSink()).name("late")
env.execute("orders")
"""


def write_program(name: str, count: int, closed: int = 2**62) -> None:
    (SHOP / name).write_text(f"COUNT, CLOSED = {count}, {closed}\n{ORDERS}")


class CommandRun:
    """Runs a command in a pseudo terminal, and holds its output."""

    def __init__(self, *command: str) -> None:
        self.command = " ".join(("penstock", *command))
        options = {"execution.checkpointing.dir": str(SHOP / "checkpoints"), "state.local.dir": str(SHOP / "state")}
        environment = {
            **os.environ,
            "PENSTOCK_HOME": str(SHOP / ".penstock"),
            "PENSTOCK_OPTIONS": json.dumps(options),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }
        environment.pop("NO_COLOR", None)
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        run = [sys.executable, "-m", "penstock", *command]
        with subprocess.Popen(run, cwd=SHOP, env=environment, stdin=slave, stdout=slave, stderr=slave) as process:
            os.close(slave)
            self.text = _read_all(master)
            self.exit_code = process.wait()
        os.close(master)
        self.text = _CURSOR.sub("", self.text.replace("\r\n", "\n"))

    def frames(self) -> list[str]:
        """Returns the frames that the live display has drawn."""
        return [part for part in _NEW_FRAME.split(self.text) if part.strip()]


def _read_all(terminal: int) -> str:
    data = b""
    while True:
        try:
            data += os.read(terminal, 65536)
        except OSError:  # the command has closed its side
            return data.decode(errors="replace")


def draw(name: str, command: str, output: str) -> None:
    """Draws a terminal with a command and its output. Replaces names of this machine."""
    for actual, shown in (
        (sys.prefix, "~/shop/.venv"),
        (os.path.realpath(sys.prefix), "~/shop/.venv"),
        (socket.gethostname(), "laptop"),
    ):
        output = output.replace(actual, shown)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ ", "bold green"), (command, "bold")), soft_wrap=True)
    console.print(Text.from_ansi(output.strip("\n")), soft_wrap=False)
    picture = console.export_svg(title=command, unique_id=f"penstock-{name}")
    picture = _FONTS.sub("", picture).replace("Fira Code", "DejaVu Sans Mono")
    picture = picture.replace(
        "<svg ", '<svg xml:space="preserve" ', 1
    )  # some viewers remove spaces, which are needed to align columns
    (IMAGES / f"{name}.svg").write_text(
        "\n".join(line.rstrip() for line in picture.splitlines()) + "\n", encoding="utf-8"
    )
    print(f"docs/images/{name}.svg", file=sys.stderr)


def main() -> int:
    shutil.rmtree(SHOP, ignore_errors=True)
    SHOP.mkdir()
    selected = set(sys.argv[1:])
    write_program("orders.py", 1_500_000)
    if not selected or "cli-explain" in selected:
        draw_explain()
    if not selected or selected & WITHOUT_SPARK:
        draw_diagnosis()
    if selected and selected <= {"cli-explain", *WITHOUT_SPARK}:
        shutil.rmtree(SHOP)
        return 0
    write_program("broken.py", 60_000, closed=1_767_258_650_000)
    running = CommandRun("run", "orders.py")
    broken = CommandRun("run", "broken.py")
    job = json.loads((max((SHOP / ".penstock" / "jobs").glob("*/job.json"), key=os.path.getctime)).read_text())
    first = min((SHOP / ".penstock" / "jobs").glob("*/job.json"), key=os.path.getctime).parent.name
    assert (running.exit_code, broken.exit_code) == (0, 1), (running.text, broken.text)
    frames = running.frames()
    tables = [frame for frame in frames[:-1] if "operator" in frame]  # there are no metrics before the first batch
    pictures = {
        "cli-run": (running.command, frames[0].split("\n")[0] + "\n" + tables[len(tables) // 2]),
        "cli-summary": (running.command, "\n".join([frames[0].split("\n")[0], frames[-1]])),
        "cli-error": (broken.command, broken.frames()[-1]),
        "cli-list": _run_command("list"),
        "cli-info": _run_command("info", first[:6]),
        "cli-doctor": _run_command("doctor"),
    }
    assert job["status"] == "failed", job
    for name, (command, output) in pictures.items():
        if not selected or name in selected:
            draw(name, command, output)
    shutil.rmtree(SHOP)
    return 0


def draw_explain() -> None:
    """Draws the output of `penstock explain`, and its diagram."""
    draw("cli-explain", *_run_command("explain", "orders.py"))
    assert CommandRun("explain", "orders.py", "--svg", str(IMAGES / "explain-job.svg")).exit_code == 0
    print("docs/images/explain-job.svg", file=sys.stderr)


def draw_diagnosis() -> None:
    """Draws the diagnosis of a job with a hot key, from a recorded checkpoint history that is added to the registry."""
    history = read_recorded(HISTORIES / "hot-key.json")
    registry, job = Registry(SHOP / ".penstock"), "5f1c6a0e9d8b47a2"
    registry.write(
        JobEntry(
            id=job,
            name="orders",
            process=this_process(),
            program="orders.py",
            master="local[2]",
            checkpoint="/tmp/checkpoints/orders",
            started=history.checkpoints[0].triggered,
            ended=history.now,
            status="cancelled",
        )
    )
    CheckpointHistory(registry.job_folder(job)).add(history.checkpoints)
    draw("cli-diagnose", *_run_command("diagnose", "orders"))
    draw("cli-checkpoints", *_run_command("checkpoints", "orders", "--last", "8"))
    draw("cli-checkpoint", *_run_command("checkpoints", "orders", str(history.checkpoints[-1].id)))
    shutil.rmtree(SHOP / ".penstock")


def _run_command(*command: str) -> tuple[str, str]:
    run = CommandRun(*command)
    return run.command, run.text


if __name__ == "__main__":
    sys.exit(main())
