"""PyFlink's module paths, for programs that were written for PyFlink: `penstock run --pyflink program.py`."""

from penstock.pyflink.alias import install, installed, pyflink_modules

__all__ = ["install", "installed", "pyflink_modules"]
