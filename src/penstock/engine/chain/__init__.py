"""Chains of stateless steps: run over chunks of elements, then routed to slots."""
