"""The folders of Penstock on this machine: where they are, who may access them, and what may be deleted when."""

from penstock.folders.locations import (
    CACHE_VARIABLE,
    HOME_VARIABLE,
    cache_folder,
    checkpoints_folder,
    default_checkpoint_folder,
    default_savepoint_folder,
    is_default_checkpoint,
    registry_folder,
    runs_folder,
    savepoints_folder,
    state_folder,
    working_copies_folder,
)
from penstock.folders.owner_access import create_private
from penstock.folders.private_folder import private_folder, remove_private_folder

__all__ = [
    "CACHE_VARIABLE",
    "HOME_VARIABLE",
    "cache_folder",
    "checkpoints_folder",
    "create_private",
    "default_checkpoint_folder",
    "default_savepoint_folder",
    "is_default_checkpoint",
    "private_folder",
    "registry_folder",
    "remove_private_folder",
    "runs_folder",
    "savepoints_folder",
    "state_folder",
    "working_copies_folder",
]
