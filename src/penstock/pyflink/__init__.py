"""The module paths of PyFlink, for programs written for PyFlink: `penstock run --pyflink program.py`."""

from penstock.pyflink.alias import install, is_installed, pyflink_modules

__all__ = ["install", "is_installed", "pyflink_modules"]
