"""Addresses: URLs and internet addresses."""

from __future__ import annotations

import re
import urllib.parse

from penstock.runtime.relational.functions.kernels import Family
from penstock.runtime.relational.functions.signatures import always_nullable, takes, text_or_null
from penstock.types.logical.kinds import BIGINT

_family = Family("addresses")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.S)
_PROTOCOLS = {"http", "https", "ftp", "file", "jar", "mailto"}


@_family.values("URL_ENCODE", takes("text", returns=text_or_null), "the text with special characters as %XX")
def url_encode(value: str) -> str:
    return urllib.parse.quote_plus(value, safe="*-._").replace("~", "%7E")


@_family.values("URL_DECODE", takes("text", returns=text_or_null), "the text without %XX; null if it is not valid")
def url_decode(value: str) -> str | None:
    if re.search(r"%(?![0-9a-fA-F]{2})", value):
        return None
    return urllib.parse.unquote_plus(value, errors="replace")


@_family.values(
    "PARSE_URL", takes("text, text[, text]", returns=text_or_null), "a part of a URL, or a parameter of its query"
)
def parse_url(url: str, part: str, key: str | None = None) -> str | None:
    match = _URL.fullmatch(url)
    if match is None or match[1].lower() not in _PROTOCOLS:
        return None
    protocol, authority, path, query, reference = match.groups()
    user, _, host = (authority or "").rpartition("@")
    if key is not None:
        if part != "QUERY" or query is None:
            return None
        found = re.search(rf"(?:&|^){re.escape(key)}=([^&]*)", query)
        return None if found is None else found[1]
    return {
        "PROTOCOL": protocol,
        "AUTHORITY": authority,
        "USERINFO": user or None,
        "HOST": re.sub(r":\d*$", "", host),
        "PATH": path,
        "QUERY": query,
        "FILE": path + (f"?{query}" if query is not None else ""),
        "REF": reference,
    }.get(part)


@_family.values("INET_ATON", takes("text", returns=always_nullable(BIGINT)), "the number of an IPv4 address")
def inet_aton(value: str) -> int | None:
    parts = value.split(".")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch(r"\d{1,10}", p) for p in parts):
        return None
    *heads, last = map(int, parts)
    if any(h > 255 for h in heads) or last >= 256 ** (4 - len(heads)):
        return None
    result = 0
    for head in heads:
        result = result * 256 + head
    return int(result * 256 ** (4 - len(heads)) + last)


@_family.values("INET_NTOA", takes("int", returns=text_or_null), "the IPv4 address of a number")
def inet_ntoa(value: int) -> str | None:
    if not 0 <= value < 1 << 32:
        return None
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))
