"""The options of Penstock and the configuration of a job.

Each group of options has its own module, such as `penstock.config.checkpoint_options`. Import options from there.
"""

from typing import TYPE_CHECKING, Any

from penstock.config import (
    checkpoint_options,
    deployment_options,
    execution_options,
    folder_options,
    rescale_options,
    restart_options,
    state_options,
)
from penstock.config.config_options import ConfigOption, ConfigOptions
from penstock.config.configuration import OPTIONS_VARIABLE, Configuration, environment_options
from penstock.config.registry import Option, options

given_options = environment_options  # the earlier name

__all__ = [
    "OPTIONS_VARIABLE",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "Option",
    "environment_options",
    "given_options",
    "options",
]

_OPTION_MODULES = (
    checkpoint_options,
    deployment_options,
    execution_options,
    folder_options,
    rescale_options,
    restart_options,
    state_options,
)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Returns an option that is imported from here instead of from its module."""
        for module in _OPTION_MODULES:
            if isinstance(option := vars(module).get(name), Option):
                return option
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
