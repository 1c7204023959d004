"""Hashes and encodings of text and bytes."""

from __future__ import annotations

import base64
import binascii
import codecs
import hashlib

from penstock.runtime.relational.expressions.errors import bad_argument
from penstock.runtime.relational.functions.kernels import Family
from penstock.runtime.relational.functions.signatures import nullable_if_any, takes, text
from penstock.types.logical.kinds import BYTES, CharType, varchar

_family = Family("hash")


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _hash(name: str, algorithm: str, length: int) -> None:
    rule = takes("text|binary", returns=nullable_if_any(CharType(length, varying=False)))
    _family.values(name, rule, f"the {name} hash as {length} hexadecimal digits")(
        lambda value: hashlib.new(algorithm, _bytes(value), usedforsecurity=False).hexdigest()
    )


_hash("MD5", "md5", 32)
_hash("SHA1", "sha1", 40)
_hash("SHA224", "sha224", 56)
_hash("SHA256", "sha256", 64)
_hash("SHA384", "sha384", 96)
_hash("SHA512", "sha512", 128)


@_family.values(
    "SHA2",
    takes("text|binary, int", returns=nullable_if_any(varchar(128))),
    "the SHA-2 hash of a length: 224, 256, 384 or 512",
    raises=True,
)
def sha2(value: str | bytes, length: int) -> str:
    if length not in (224, 256, 384, 512):
        raise bad_argument("SHA2", f"the length {length} is not 224, 256, 384 or 512")
    return hashlib.new(f"sha{length}", _bytes(value)).hexdigest()


@_family.values("TO_BASE64", takes("text|binary", returns=text), "the text or bytes in base 64")
def to_base64(value: str | bytes) -> str:
    return base64.b64encode(_bytes(value)).decode()


def _filled(value: bytes) -> bytes:
    """The text with the = at its end that may be left out."""
    return value if value.endswith(b"=") else value + b"=" * (-len(value) % 4)


@_family.values("FROM_BASE64", takes("text|binary", returns=text), "the text of base 64", raises=True)
def from_base64(value: str | bytes) -> str:
    try:
        return base64.b64decode(_filled(_bytes(value)), validate=True).decode("utf-8", "replace")
    except binascii.Error as error:
        raise bad_argument("FROM_BASE64", f"'{value!r}' is not in base 64") from error


def _codec(name: str) -> str:
    found = {"UTF-16": "utf-16-be-bom", "UTF16": "utf-16-be-bom"}.get(name.upper(), name)
    if found == "utf-16-be-bom":
        return found
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise bad_argument("ENCODE and DECODE", f"there is no character set '{name}'") from error


@_family.values(
    "ENCODE", takes("text, text", returns=nullable_if_any(BYTES)), "the bytes of a text in a character set", raises=True
)
def encode(value: str, charset: str) -> bytes:
    codec = _codec(charset)
    if codec == "utf-16-be-bom":
        return b"\xfe\xff" + value.encode("utf-16-be")
    return value.encode(codec, "replace")


@_family.values("DECODE", takes("binary, text", returns=text), "the text of bytes in a character set", raises=True)
def decode(value: bytes, charset: str) -> str:
    codec = _codec(charset)
    return value.decode("utf-16" if codec == "utf-16-be-bom" else codec, "replace")
