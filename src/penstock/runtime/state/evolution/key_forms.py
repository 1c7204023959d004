"""Forms of keys: what encoded keys reveal about their Python type, for keys without a declared type.

State is found by the encoded key. So a program whose keys have another form than the saved ones never finds its state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from penstock.runtime.state.evolution.keys import key_fields, key_label
from penstock.runtime.state.evolution.shape import Shape
from penstock.runtime.state.key_parts import object_parts

KeyForm = Any  # JSON: the name of a type, or a list of a class name (empty for a tuple) and the forms of its parts

_MAX_FORMS = 20  # keys with more forms than this are not compared
_TEXTS = ("datetime", "date", "time", "UUID")  # objects that are encoded as text
_FORMS: dict[str, KeyForm] = {"uuid": "UUID", "instant": ["Instant", "int", "int"]}  # where they are not the kind
_NUMBERS = ("int", "float")  # equal numbers are one key, and 1.0 is encoded as 1

_decode = msgspec.msgpack.decode


def key_form(encoded: bytes) -> KeyForm:
    """The form of an encoded key.

    >>> from penstock.runtime.state.keys import encode_key
    >>> key_form(encode_key("a")[0]), key_form(encode_key((1, 2.5))[0])
    ('str', ['', 'int', 'float'])
    """
    return _form(_decode(encoded))


def key_forms(encoded: Iterable[bytes]) -> list[KeyForm]:
    """The distinct forms of encoded keys; empty if there are too many to compare them."""
    forms: list[KeyForm] = []
    for key in encoded:
        if (form := key_form(key)) not in forms:
            if len(forms) == _MAX_FORMS:
                return []
            forms.append(form)
    return forms


def form_text(form: KeyForm) -> str:
    """A form as text.

    >>> form_text(["", "int", "str"]), form_text(["User", "int"])
    ('(int, str)', 'User(int)')
    """
    if isinstance(form, str):
        return form
    label, *parts = form
    return f"{label}({', '.join(map(form_text, parts))}{',' if len(parts) == 1 and not label else ''})"


def forms_text(forms: Iterable[KeyForm]) -> str:
    return " | ".join(map(form_text, forms))


def is_same_form(first: KeyForm, second: KeyForm) -> bool:
    """Whether keys of two forms may be keys of one program. A part that is None may have any form.

    >>> is_same_form("int", "float"), is_same_form("int", "str"), is_same_form(["", "None"], ["", "str"])
    (True, False, True)
    """
    if "None" in (first, second):
        return True
    if isinstance(first, str) or isinstance(second, str):
        return bool(first == second) or (first in _NUMBERS and second in _NUMBERS)
    return len(first) == len(second) and first[0] == second[0] and all(map(is_same_form, first[1:], second[1:]))


def fits_type(form: KeyForm, shape: Shape) -> bool:
    """Whether keys of a form may be keys of a declared type.

    >>> fits_type("int", Shape("float")), fits_type("float", Shape("int")), fits_type("int", Shape("str"))
    (True, False, False)
    """
    if form == "None" or shape.kind in ("pickle", "any", "self"):
        return True
    if shape.kind == "union":
        return any(fits_type(form, member) for member in shape.of)
    if shape.kind in ("bool", "int", "bigint"):
        return bool(form == "int")
    if shape.kind in ("float", "decimal"):
        return form in _NUMBERS
    if shape.kind == "enum":
        return form in (shape.name, *{type(value).__name__ for value in shape.values})
    if shape.kind == "sequence":
        return isinstance(form, list) and not form[0] and all(fits_type(part, shape.of[0]) for part in form[1:])
    fields = key_fields(shape)
    if fields is None:
        return bool(form == _FORMS.get(shape.kind, shape.kind))
    if isinstance(form, str) or len(form) != len(fields) + 1 or form[0] != key_label(shape):
        return False
    return all(fits_type(part, field.type) for part, field in zip(form[1:], fields, strict=True))


def _form(part: Any) -> KeyForm:
    if isinstance(part, list):
        return ["", *map(_form, part)]
    if not isinstance(part, msgspec.msgpack.Ext):
        return "None" if part is None else type(part).__name__
    if part.code == 1:
        return "int"
    if part.code == 3:
        return "frozenset"
    kind, content = object_parts(part)
    if kind == "Decimal":
        return "float"
    if kind in _TEXTS or not isinstance(content, list):  # the content of an enumeration member is its name
        return kind
    return [kind, *map(_form, content[1:] if kind == "Row" else content)]
