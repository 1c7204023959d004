"""Mappers and hosts: what runs in the tasks of a source and of a level."""
