"""The values of a state: compares their types, declared or not, and rewrites them."""

from __future__ import annotations

from penstock.runtime.codec import codec_of
from penstock.runtime.evolution.keys import compare_keys
from penstock.runtime.evolution.migrating import migration
from penstock.runtime.evolution.natural import value_reader
from penstock.runtime.evolution.own_forms import OWN_FORMS, compare_measures, in_patterns
from penstock.runtime.evolution.resolve import Comparison, compare
from penstock.runtime.evolution.shape import Shape, StateShape
from penstock.runtime.evolution.stored import Rewrite, rewriting, rewriting_natural
from penstock.types import TypeInformation


def compare_values(saved: Shape, wanted: Shape, type_info: TypeInformation) -> tuple[Comparison, Rewrite | None]:
    """What differs, and what rewrites a stored value; None where nothing is to do.

    >>> from penstock.types import Types
    >>> found, rewrite = compare_values(Shape("int", bits=32), Shape("float", bits=64), Types.DOUBLE())
    >>> found.differences, rewrite(b"\\x02\\x07")
    (['INT became float'], b'\\x02\\xcb@\\x1c\\x00\\x00\\x00\\x00\\x00\\x00')
    """
    if wanted.kind in OWN_FORMS:
        return _own_forms(saved, wanted)
    if "pickle" in (saved.kind, wanted.kind):
        return _with_pickles(saved, wanted, type_info)
    found = compare(saved, wanted)
    if found.change is None and not found.checked:
        return found, None
    return found, rewriting(found.change, codec_of(type_info))


def _own_forms(saved: Shape, wanted: Shape) -> tuple[Comparison, Rewrite | None]:
    if wanted.kind == "measures":
        return compare_measures(saved, wanted)
    if saved.kind != wanted.kind:  # written before the type of events was kept
        return Comparison(), None
    (before,), (after,) = saved.of, wanted.of
    assert after.live is not None
    found, rewrite = compare_values(before, after, after.live.type_info)
    if before.kind == "pickle":  # every event says itself what it is
        return Comparison(differences=found.differences), None
    return found, None if rewrite is None else in_patterns(rewrite)


def _with_pickles(saved: Shape, wanted: Shape, type_info: TypeInformation) -> tuple[Comparison, Rewrite | None]:
    """Types that were not declared: only a migrate function, or the values themselves, know what they are."""
    codec = codec_of(type_info)
    if wanted.live is not None and wanted.live.evolution.migrate is not None and saved.version < wanted.version:
        told = f"version {saved.version} becomes {wanted.version} by its migrate function"
        rewrite = rewriting_natural(value_reader(saved), migration(saved, wanted), codec)
        return Comparison(differences=[told], checked=True, in_place=False), rewrite
    if saved.version > wanted.version:
        told = f"was written by version {saved.version}, which is newer than the program's {wanted.version}"
        return Comparison(obstacles=[told], in_place=False), None
    if saved.kind == wanted.kind:
        return Comparison(differences=["no declared type: pickled objects, whose fields are not compared"]), None
    if saved.kind == "pickle":
        told = f"no declared type became {wanted.text()}, checked value by value"
        return Comparison(differences=[told], checked=True), rewriting(None, codec)
    told = f"{saved.text()} has no declared type any more; declare it, or give the state a migrate function"
    return Comparison(obstacles=[told], in_place=False), None


def differences_in_place(saved: StateShape, wanted: StateShape, type_info: TypeInformation) -> list[str]:
    """What keeps a program from reading what is stored without rewriting it; nothing, where it can.

    >>> from penstock.types import Types
    >>> differences_in_place(StateShape(Shape("int", bits=32)), StateShape(Shape("str")), Types.STRING())
    ['INT cannot become str by itself']
    """
    values, _ = compare_values(saved.value, wanted.value, type_info)
    keys = compare_keys(saved.key, wanted.key) if saved.key is not None and wanted.key is not None else Comparison()
    obstacles = [*values.obstacles, *keys.obstacles]
    fits = values.in_place and (not values.checked or saved.value.kind == "pickle")  # a pickle says itself what it is
    return obstacles if obstacles or fits else values.differences
