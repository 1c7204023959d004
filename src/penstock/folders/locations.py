"""Where the files of Penstock are on this machine. No file that lasts is in the temporary folder.

The state folder is PENSTOCK_HOME, or XDG_STATE_HOME/penstock, or ~/.penstock. The cache folder is PENSTOCK_CACHE, or
XDG_CACHE_HOME/penstock, or ~/.cache/penstock. `kinds.py` describes what is inside.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from penstock.config import Configuration
from penstock.config.checkpoint_options import CHECKPOINT_DIR, SAVEPOINT_DIR
from penstock.config.deployment_options import REGISTRY_DIR

HOME_VARIABLE = "PENSTOCK_HOME"
CACHE_VARIABLE = "PENSTOCK_CACHE"
_MAX_NAME = 200  # bytes; file systems allow 255
_JOB_ID = re.compile(r"[0-9a-f]{32}")


def state_folder() -> Path:
    """The folder of everything that lasts: registry, logs, checkpoints, savepoints, working copies.

    A folder that belongs to another user is never chosen, as after `sudo` with the HOME of the user. If PENSTOCK_HOME is one, each
    user has a folder inside.
    """
    if chosen := os.environ.get(HOME_VARIABLE):
        folder = Path(chosen).expanduser().absolute()
        return folder if _is_own_folder(folder) or not folder.is_dir() else folder / f"user-{os.getuid()}"
    names = (".penstock", ".local/state/penstock")
    in_home = next((f for home in _homes() for name in names if _is_usable(f := home / name)), None)
    base = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(base):  # the specification says that other paths are ignored
        folder = Path(base, "penstock")
        has_earlier = in_home is not None and _is_own_folder(in_home)
        if _is_own_folder(folder) or (not has_earlier and _can_create(folder)):
            return folder
    return in_home or _temporary_state_folder()


def cache_folder() -> Path:
    """The folder of files that are downloaded or computed again if they are missing."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base, "penstock")
    for home in _homes():
        folder = home / ".cache" / "penstock"
        if _is_usable(folder):
            return folder
    return state_folder() / "cache"


def registry_folder(configuration: Configuration | None = None) -> Path:
    """The folder of the job registry and of logs."""
    chosen: str = (configuration or Configuration()).get(REGISTRY_DIR)
    return Path(chosen).expanduser().absolute() if chosen else state_folder()


# -- checkpoints and savepoints


def checkpoints_folder() -> Path:
    """The folder of checkpoints for which no folder was configured."""
    return _own_folder(state_folder() / "checkpoints")


def default_checkpoint_folder(configuration: Configuration, job_id: str, name: str = "") -> str:
    """The checkpoint folder of a job. With a name it is always the same folder, which is never removed automatically.

    >>> default_checkpoint_folder(Configuration({"execution.checkpointing.dir": "/data"}), "7", name="fraud alerts")
    '/data/fraud%20alerts'
    """
    chosen: str = configuration.get(CHECKPOINT_DIR)
    root = os.path.abspath(chosen) if chosen else str(checkpoints_folder())
    return os.path.join(root, _file_name(name) if name else job_id)


def is_default_checkpoint(folder: str | Path) -> bool:
    """Whether a checkpoint is in the default folder and no user has named it."""
    path = Path(folder)
    return path.parent == checkpoints_folder() and _JOB_ID.fullmatch(path.name) is not None


def savepoints_folder() -> Path:
    """The folder of savepoints of jobs with a default checkpoint folder."""
    return _own_folder(state_folder() / "savepoints")


def default_savepoint_folder(configuration: Configuration, checkpoint: str) -> str:
    """The folder of savepoints for which no folder was requested.

    >>> default_savepoint_folder(Configuration(), "/data/checkpoints/7")
    '/data/checkpoints/savepoints'
    """
    if chosen := configuration.get(SAVEPOINT_DIR):
        return str(chosen)
    parent = Path(checkpoint).parent
    return str(savepoints_folder() if parent == checkpoints_folder() else parent / "savepoints")


def _file_name(name: str) -> str:
    """A name of a job as the name of a folder. It differs from all ids of jobs."""
    quoted = quote(name, safe=" ").replace(" ", "%20")
    quoted = re.sub(r"^\.", "%2E", quoted)
    if len(quoted) > _MAX_NAME:
        quoted = f"{quoted[:_MAX_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    return f"name-{quoted}" if _JOB_ID.fullmatch(quoted) or quoted == "savepoints" else quoted


# -- other folders


def working_copies_folder() -> Path:
    """The folder of the working copies of state, unless `state.local.dir` is set."""
    return _own_folder(state_folder() / "working-copies")


def runs_folder() -> Path:
    """The folder of files that a process needs while it runs."""
    return _own_folder(state_folder() / "runs")


# -- choosing


def _homes() -> Iterator[Path]:
    """The home folders of this user: that of the environment, and that of the system."""
    home = os.environ.get("HOME", "")
    if os.path.isabs(home):
        yield Path(home)
    try:
        listed = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a container may run with a user id that has no name
        return
    if os.path.isabs(listed) and listed != home:
        yield Path(listed)


def _own_folder(folder: Path) -> Path:
    """The folder, or another name if something that is not a folder of this user has its name."""
    if os.path.lexists(folder) and not _is_own_folder(folder):
        return folder.with_name(f"{folder.name}-{os.getuid()}")
    return folder


def _is_usable(folder: Path) -> bool:
    return _is_own_folder(folder) or _can_create(folder)


def _is_own_folder(folder: Path) -> bool:
    try:
        return folder.is_dir() and folder.stat().st_uid == os.getuid()
    except OSError:
        return False


def _can_create(folder: Path) -> bool:
    """Whether this user can create a folder in a place that does not belong to another ordinary user."""
    try:
        if folder.exists():
            return False
        parent = next(p for p in folder.parents if p.exists())
        return parent.stat().st_uid in (os.getuid(), 0) and os.access(parent, os.W_OK | os.X_OK)
    except (OSError, StopIteration):
        return False


def _temporary_state_folder() -> Path:
    """A folder for users without a writable home, as in some containers."""
    root, number = tempfile.gettempdir(), 0
    while True:
        folder = Path(root, f"penstock-{os.getuid()}" + (f"-{number}" if number else ""))
        if not folder.is_symlink() and (_is_own_folder(folder) or not folder.exists()):
            return folder
        number += 1
