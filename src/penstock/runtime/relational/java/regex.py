"""Regular expressions of Java, translated to Python's."""

from __future__ import annotations

import functools
import re

_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
    "ASCII": r"\x00-\x7f",
}
_UNICODE = {
    "L": r"^\W\d_",
    "IsAlphabetic": r"^\W\d_",
    "IsLetter": r"^\W\d_",
    "N": r"\d",
    "Nd": r"\d",
    "IsDigit": r"\d",
    "Lu": "A-ZÀ-ÖØ-Þ",
    "Ll": "a-zß-öø-ÿ",
    "IsUppercase": "A-ZÀ-ÖØ-Þ",
    "IsLowercase": "a-zß-öø-ÿ",
    "P": r"!-#%-*,-/:;?@\[-\]_{}¡§«¶·»¿",
    "IsPunctuation": r"!-#%-*,-/:;?@\[-\]_{}¡§«¶·»¿",
    "IsHan": "\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
}
_SIMPLE = {
    "h": r"[ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "H": r"[^ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "R": r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])",
    "z": r"\Z",
    "Z": r"(?=\n?\Z)",
    "G": r"\A",
    "e": r"\x1b",
    # Without a flag, these classes are of ASCII in Java.
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[a-zA-Z0-9_]",
    "W": "[^a-zA-Z0-9_]",
    "s": r"[ \t\n\x0b\f\r]",
    "S": r"[^ \t\n\x0b\f\r]",
}


@functools.lru_cache(maxsize=512)
def compile_regex(pattern: str) -> re.Pattern[str] | None:
    """Returns the compiled pattern, None if it is not valid.

    >>> compile_regex(r"(?<word>\\p{Alpha}+)\\d").search("ab1").group(1)
    'ab'
    >>> compile_regex("[") is None
    True
    """
    try:
        return re.compile(translated(pattern))
    except (re.error, OverflowError, RecursionError, IndexError):
        return None


def translated(pattern: str) -> str:
    """Returns the pattern in Python's syntax."""
    result: list[str] = []
    at, depth = 0, 0
    flags = re.match(r"\(\?([a-zA-Z]+)\)", pattern)
    if flags is not None:
        result.append("(?" + "".join(f for f in flags[1] if f in "imsx") + ")" if set(flags[1]) & set("imsx") else "")
        at = flags.end()
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            text, at = _escape(pattern, at, depth > 0)
            result.append(text)
            continue
        if depth:
            if character == "[":
                depth += 1
                result.append("" if depth > 1 else "[")
            elif character == "]":
                depth -= 1
                result.append("]" if depth == 0 else "")
            elif pattern.startswith("&&", at):
                raise re.error("intersections of classes are not supported")
            else:
                result.append(character)
            at += 1
            continue
        if character == "[":
            depth = 1
            result.append("[")
            at += 1
            if pattern.startswith("^", at):
                result.append("^")
                at += 1
            if pattern.startswith("]", at):
                result.append(r"\]")
                at += 1
            continue
        if pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!"):
            result.append("(?P<")
            at += 3
            continue
        if character == "$":
            result.append(r"(?=\n?\Z)")
            at += 1
            continue
        result.append(character)
        at += 1
    return "".join(result)


def _escape(pattern: str, at: int, inside: bool) -> tuple[str, int]:
    following = pattern[at + 1 : at + 2]
    if following == "":
        raise re.error("a backslash at the end")
    if following == "Q":
        end = pattern.find(r"\E", at)
        quoted = pattern[at + 2 : end if end >= 0 else len(pattern)]
        return re.escape(quoted), end + 2 if end >= 0 else len(pattern)
    if following in "pP":
        match = re.match(r"\{(?:Is)?(\w+)\}|(\w)", pattern[at + 2 :])
        if match is None:
            raise re.error("a class was expected")
        name = match[1] or match[2]
        members = _CLASSES.get(name) or _UNICODE.get(name) or _UNICODE.get(f"Is{name}")
        if members is None:
            raise re.error(f"unknown class {name}")
        end = at + 2 + match.end()
        negative = following == "P"
        if members.startswith("^"):
            negative, members = not negative, members[1:]
        if inside:
            if negative:
                raise re.error("a negated class inside a class is not supported")
            return members, end
        return f"[{'^' if negative else ''}{members}]", end
    if following == "x" and pattern[at + 2 : at + 3] == "{":
        end = pattern.index("}", at)
        return re.escape(chr(int(pattern[at + 3 : end], 16))), end + 1
    if following in _SIMPLE:
        text = _SIMPLE[following]
        if inside:
            if text.startswith("[^"):
                raise re.error("a negated class inside a class is not supported")
            text = text[1:-1] if text.startswith("[") else text
        return text, at + 2
    if following == "k" and pattern[at + 2 : at + 3] == "<":
        end = pattern.index(">", at)
        return f"(?P={pattern[at + 3 : end]})", end + 1
    if following.isalpha() and following not in "tnrfabBAucx0":
        raise re.error(f"unknown escape {following}")
    return pattern[at : at + 2], at + 2


def split_regex(pattern: str, text: str, limit: int = 0) -> list[str]:
    """Splits a text at the matches of a pattern, as String.split: empty texts at the end are left out unless there is a limit.

    >>> split_regex(",", "a,b,,"), split_regex("=", "a=b=c", 2)
    (['a', 'b'], ['a', 'b=c'])
    """
    compiled = compile_regex(pattern) or re.compile(re.escape(pattern))
    parts: list[str] = []
    start = 0
    for match in compiled.finditer(text):
        if limit and len(parts) == limit - 1:
            break
        if match.end() == 0:
            continue
        parts.append(text[start : match.start()])
        start = match.end()
    parts.append(text[start:])
    if not limit:
        while len(parts) > 1 and parts[-1] == "":
            parts.pop()
    return parts
