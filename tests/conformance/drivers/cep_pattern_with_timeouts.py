"""A pattern, with the partial matches whose time is over."""

from tests.conformance.drivers.cep_pattern import check, job

__all__ = ["check", "job"]
