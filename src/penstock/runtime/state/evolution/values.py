"""Compares the types of the values of a state, declared or not, and rewrites stored values."""

from __future__ import annotations

from penstock.runtime.state.codec import codec_of
from penstock.runtime.state.evolution.compatibility import Comparison, compare
from penstock.runtime.state.evolution.keys import compare_keys
from penstock.runtime.state.evolution.migration import migrate_call
from penstock.runtime.state.evolution.operator_formats import OPERATOR_FORMATS, compare_measures, pattern_rewriter
from penstock.runtime.state.evolution.python_values import value_reader
from penstock.runtime.state.evolution.shape import Shape, StateShape
from penstock.runtime.state.evolution.stored_entries import Rewrite, migration_rewriter, value_rewriter
from penstock.types import TypeInformation


def compare_values(saved: Shape, current: Shape, type_info: TypeInformation) -> tuple[Comparison, Rewrite | None]:
    """Returns the comparison, and the function that rewrites a stored value; None if values stay the same.

    >>> from penstock.types import Types
    >>> comparison, rewrite = compare_values(Shape("int", bits=32), Shape("float", bits=64), Types.DOUBLE())
    >>> comparison.differences, rewrite(b"\\x02\\x07")
    (['INT became float'], b'\\x02\\xcb@\\x1c\\x00\\x00\\x00\\x00\\x00\\x00')
    """
    if current.kind in OPERATOR_FORMATS:
        return _compare_operator_formats(saved, current)
    if "pickle" in (saved.kind, current.kind):
        return _compare_pickled(saved, current, type_info)
    comparison = compare(saved, current)
    if comparison.convert is None and not comparison.checked:
        return comparison, None
    return comparison, value_rewriter(comparison.convert, codec_of(type_info))


def _compare_operator_formats(saved: Shape, current: Shape) -> tuple[Comparison, Rewrite | None]:
    if current.kind == "measures":
        return compare_measures(saved, current)
    if saved.kind != current.kind:  # written by a version that did not store the type of events
        return Comparison(), None
    (before,), (after,) = saved.of, current.of
    assert after.binding is not None
    comparison, rewrite = compare_values(before, after, after.binding.type_info)
    if before.kind == "pickle":  # a pickle can be read without its type
        return Comparison(differences=comparison.differences), None
    return comparison, None if rewrite is None else pattern_rewriter(rewrite)


def _compare_pickled(saved: Shape, current: Shape, type_info: TypeInformation) -> tuple[Comparison, Rewrite | None]:
    """Compares types of which one is not declared. Without a migrate function, only the values themselves can be checked."""
    codec = codec_of(type_info)
    if (
        current.binding is not None
        and current.binding.evolution.migrate is not None
        and saved.version < current.version
    ):
        message = f"version {saved.version} is converted to {current.version} by its migrate function"
        rewrite = migration_rewriter(value_reader(saved), migrate_call(saved, current), codec)
        return Comparison(differences=[message], checked=True, in_place=False), rewrite
    if saved.version > current.version:
        message = (
            f"was written by version {saved.version}, which is newer than version {current.version} of the program"
        )
        return Comparison(obstacles=[message], in_place=False), None
    if saved.kind == current.kind:
        return Comparison(differences=["no declared type; the fields of pickled objects are not compared"]), None
    if saved.kind == "pickle":
        message = f"no declared type became {current.text()}, checked value by value"
        return Comparison(differences=[message], checked=True), value_rewriter(None, codec)
    message = f"{saved.text()} has no declared type anymore; declare it, or give the state a migrate function"
    return Comparison(obstacles=[message], in_place=False), None


def differences_in_place(saved: StateShape, current: StateShape, type_info: TypeInformation) -> list[str]:
    """Returns the differences that prevent the program from reading stored values without rewriting; empty if it can.

    >>> from penstock.types import Types
    >>> differences_in_place(StateShape(Shape("int", bits=32)), StateShape(Shape("str")), Types.STRING())
    ['INT cannot be converted to str automatically']
    """
    values, _ = compare_values(saved.value, current.value, type_info)
    keys = compare_keys(saved.key, current.key) if saved.key is not None and current.key is not None else Comparison()
    obstacles = [*values.obstacles, *keys.obstacles]
    fits = values.in_place and (
        not values.checked or saved.value.kind == "pickle"
    )  # a pickle can be read without its type
    if obstacles or (fits and not keys.checked):
        return obstacles
    return [*values.differences, *keys.differences]
