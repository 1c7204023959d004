"""Slots: key groups, clocks, watermark alignment and rescaling."""
