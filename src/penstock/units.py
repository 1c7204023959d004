"""Formats counts, sizes and durations for output."""

from __future__ import annotations


def format_count(count: int, singular: str, plural: str) -> str:
    """A number with its noun.

    >>> format_count(1, "batch", "batches"), format_count(2000, "batch", "batches")
    ('1 batch', '2,000 batches')
    """
    return f"{count:,} {singular if count == 1 else plural}"


def format_size(size: float, *, compact: bool = False) -> str:
    """A number of bytes; with `compact`, three significant digits without trailing zeros.

    >>> format_size(512), format_size(3_500_000), format_size(80_000, compact=True)
    ('512 B', '3.5 MB', '80 KB')
    """
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    number = f"{size:.3g}" if compact else f"{size:.0f}" if unit == "B" else f"{size:.1f}"
    return f"{number} {unit}"


def format_duration(seconds: float) -> str:
    """A duration in its two largest units.

    >>> format_duration(0.83), format_duration(12), format_duration(185), format_duration(8040), format_duration(270_000)
    ('0.8 s', '12 s', '3 min 5 s', '2 h 14 min', '3 d 3 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    rest = int(seconds)
    parts: list[str] = []
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        number, rest = divmod(rest, length)
        if number or parts:
            parts.append(f"{number} {unit}" if number else "")
    return " ".join(part for part in parts[:2] if part)


def format_latency(seconds: float) -> str:
    """A duration that may be well below a second.

    >>> format_latency(0.00042), format_latency(0.0134), format_latency(2.5), format_latency(185)
    ('420 µs', '13 ms', '2.5 s', '3 min 5 s')
    """
    if seconds >= 1:
        return format_duration(seconds)
    if 0 < seconds < 0.001:
        return f"{seconds * 1e6:.3g} µs"
    millis = seconds * 1000
    return f"{millis:.2g} ms" if millis < 10 else f"{millis:.0f} ms"
