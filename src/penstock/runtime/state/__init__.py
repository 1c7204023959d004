"""Keyed state: handles with the decoded values of a batch, the store below them, timers, keys and codecs."""
