"""A CEP pattern with timed-out partial matches."""

from tests.conformance.drivers.cep_pattern import check, job

__all__ = ["check", "job"]
