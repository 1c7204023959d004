"""Patterns of dates and times such as yyyy-MM-dd HH:mm:ss, as java.time.format.DateTimeFormatter."""

from __future__ import annotations

import calendar
import datetime
import functools
import re
from typing import NamedTuple

_MONTHS = list(calendar.month_name)
_SHORT_MONTHS = list(calendar.month_abbr)
_DAYS = list(calendar.day_name)
_SHORT_DAYS = list(calendar.day_abbr)
_SIGNS = set("GuyDMLdQqYwWEecFaBhHkKmsSAnNVvzOXxZp")
_DAY = 86_400_000_000_000
_EPOCH = datetime.date(1970, 1, 1).toordinal()


class BadPattern(ValueError):  # noqa: N818 - callers turn it into an error of the user
    """The text is not a pattern of dates and times."""


class Part(NamedTuple):
    """A run of one letter, or literal text with letter ''."""

    letter: str
    size: int
    text: str = ""


@functools.lru_cache(maxsize=256)
def parts_of(pattern: str) -> tuple[Part, ...]:
    """Splits a pattern.

    >>> parts_of("yyyy'T'HH")
    (Part(letter='y', size=4, text=''), Part(letter='', size=0, text='T'), Part(letter='H', size=2, text=''))
    """
    result: list[Part] = []
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "'":
            match = re.compile(r"'((?:[^']|'')*)'").match(pattern, at)
            if match is None:
                raise BadPattern(f"an open quote in '{pattern}'")
            result.append(Part("", 0, match[1].replace("''", "'") or "'"))
            at = match.end()
        elif character.isascii() and character.isalpha():
            end = at
            while end < len(pattern) and pattern[end] == character:
                end += 1
            if character not in _SIGNS:
                raise BadPattern(f"unknown letter '{character}' in '{pattern}'")
            result.append(Part(character, end - at))
            at = end
        elif character in "{}#":
            raise BadPattern(f"'{character}' is reserved in '{pattern}'")
        else:
            result.append(Part("", 0, "" if character in "[]" else character))
            at += 1
    return tuple(result)


# ------------------------------------------------------------------------------------------------- formatting


def format_time(nanos: int, pattern: str, zone_name: str = "", offset_seconds: int | None = None) -> str:
    """Formats a local time, nanoseconds since 1970.

    >>> format_time(0, "yyyy-MM-dd HH:mm:ss.SSS EEE")
    '1970-01-01 00:00:00.000 Thu'
    """
    days, rest = divmod(nanos, _DAY)
    date = datetime.date.fromordinal(days + _EPOCH)
    return "".join(
        p.text if not p.letter else _formatted(p, date, rest, zone_name, offset_seconds) for p in parts_of(pattern)
    )


def _number(value: int, count: int) -> str:
    return str(value).rjust(count, "0")


def _formatted(part: Part, date: datetime.date, rest: int, zone_name: str, offset: int | None) -> str:
    letter, count = part.letter, part.size
    seconds, nano = divmod(rest, 1_000_000_000)
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    if letter in "yu":
        return _number(date.year % 100, 2) if count == 2 else _number(date.year, count)
    if letter == "Y":
        year = _week_year(date)
        return _number(year % 100, 2) if count == 2 else _number(year, count)
    if letter in "ML":
        if count >= 3:
            name = _SHORT_MONTHS[date.month] if count == 3 else _MONTHS[date.month]
            return name[0] if count == 5 else name
        return _number(date.month, count)
    if letter == "d":
        return _number(date.day, count)
    if letter == "D":
        return _number(date.timetuple().tm_yday, count)
    if letter in "Qq":
        quarter = (date.month + 2) // 3
        if count == 3:
            return f"Q{quarter}"
        return f"{quarter}{['st', 'nd', 'rd', 'th'][quarter - 1]} quarter" if count == 4 else _number(quarter, count)
    if letter == "E" or (letter in "ec" and count >= 3):
        name = _SHORT_DAYS[date.weekday()] if count <= 3 else _DAYS[date.weekday()]
        return name[0] if count == 5 else name
    if letter in "ec":
        return _number(date.isoweekday() % 7 + 1, count)
    if letter == "w":
        return _number(_week_of_year(date), count)
    if letter == "W":
        first = datetime.date(date.year, date.month, 1)
        return _number((date.day + first.isoweekday() % 7 - 1) // 7 + 1, count)
    if letter == "F":
        return _number((date.day - 1) // 7 + 1, count)
    if letter == "a":
        return "AM" if hour < 12 else "PM"
    if letter == "H":
        return _number(hour, count)
    if letter == "h":
        return _number((hour + 11) % 12 + 1, count)
    if letter == "k":
        return _number((hour + 23) % 24 + 1, count)
    if letter == "K":
        return _number(hour % 12, count)
    if letter == "m":
        return _number(minute, count)
    if letter == "s":
        return _number(second, count)
    if letter == "S":
        return f"{nano:09d}"[:count].ljust(count, "0")
    if letter == "n":
        return _number(nano, count)
    if letter == "A":
        return _number(rest // 1_000_000, count)
    if letter == "N":
        return _number(rest, count)
    if letter == "G":
        return "AD" if count < 4 else "Anno Domini"
    if offset is None:
        raise BadPattern(f"'{letter}' needs a time zone")
    if letter in "zV":
        return zone_name
    sign = "-" if offset < 0 else "+"
    hours, minutes = abs(offset) // 3600, abs(offset) // 60 % 60
    if letter == "X" and offset == 0:
        return "Z"
    if letter in "Xx":
        colon = ":" if count in (3, 5) else ""
        return f"{sign}{hours:02d}{colon}{minutes:02d}" if count > 1 or minutes else f"{sign}{hours:02d}"
    if letter == "Z":
        return f"{sign}{hours:02d}{minutes:02d}" if count < 4 else f"GMT{sign}{hours:02d}:{minutes:02d}"
    return f"GMT{sign}{hours}" if letter == "O" else ""


def _week_of_year(date: datetime.date) -> int:
    """Weeks begin on Sunday, and the first one has January 1, as in the United States."""
    first = datetime.date(date.year, 1, 1)
    week = (date.timetuple().tm_yday + first.isoweekday() % 7 - 1) // 7 + 1
    following = datetime.date(date.year + 1, 1, 1) if date.year < 9999 else None
    if following is not None and (following - date).days <= following.isoweekday() % 7:
        return 1
    return week


def _week_year(date: datetime.date) -> int:
    return date.year + 1 if date.month == 12 and _week_of_year(date) == 1 else date.year


# ---------------------------------------------------------------------------------------------------- parsing

_FIELDS = {
    **dict.fromkeys("yu", "year"),
    **dict.fromkeys("ML", "month"),
    **dict.fromkeys("ZXx", "offset"),
    "d": "day",
    "D": "day_of_year",
    "H": "hour",
    "h": "half_hour",
    "k": "hour24",
    "K": "half_hour0",
    "m": "minute",
    "s": "second",
    "S": "fraction",
    "a": "half",
    "n": "nano",
}


@functools.lru_cache(maxsize=256)
def _expression(pattern: str) -> tuple[re.Pattern[str], tuple[tuple[str, int], ...]]:
    pieces, names = [], []
    parts = [p for p in parts_of(pattern) if p.letter or p.text]
    for index, part in enumerate(parts):
        if not part.letter:
            pieces.append(re.escape(part.text))
            continue
        adjacent = index + 1 < len(parts) and parts[index + 1].letter not in (
            "",
            "a",
            "E",
            "G",
            "Z",
            "X",
            "x",
            "z",
            "V",
        )
        pieces.append(f"({_digits(part, adjacent)})")
        names.append((_FIELDS.get(part.letter, "ignored"), part.size))
    return re.compile("".join(pieces), re.I), tuple(names)


def _digits(part: Part, adjacent: bool) -> str:
    letter, count = part.letter, part.size
    if letter in "ML" and count >= 3:
        return "|".join((_SHORT_MONTHS if count == 3 else _MONTHS)[1:])
    if letter == "E":
        return "|".join(_SHORT_DAYS if count <= 3 else _DAYS)
    if letter == "a":
        return "AM|PM"
    if letter == "G":
        return "AD|BC"
    if letter in "ZXx":
        return r"Z|[+-]\d{2}(?::?\d{2})?"
    if letter in "zV":
        return r"[A-Za-z_/+\-0-9:]+"
    if letter == "S":
        return rf"\d{{{count}}}"
    if letter in "yu":
        if count == 2:
            return r"\d{2}"
        return rf"\d{{{count}}}" if adjacent else rf"\d{{{count},10}}" if count >= 4 else r"\d{1,10}"
    return rf"\d{{{count}}}" if count > 1 or adjacent else r"\d{1,19}"


def parse_time(text: str, pattern: str) -> tuple[int, int | None] | None:
    """Parses a local time: nanoseconds since 1970, and the offset in seconds if the text has one. None if it does not fit.

    >>> parse_time("01.02.1970", "dd.MM.yyyy"), parse_time("x", "yyyy")
    ((2678400000000000, None), None)
    """
    compiled, names = _expression(pattern)
    match = compiled.fullmatch(text)
    if match is None:
        return None
    found: dict[str, str] = {}
    for (name, count), value in zip(names, match.groups(), strict=True):
        found[name] = f"20{value}" if name == "year" and count == 2 else value
    return _resolved(found)


def _resolved(found: dict[str, str]) -> tuple[int, int | None] | None:
    year = int(found.get("year", 1970))
    month = _month(found["month"]) if "month" in found else 1
    day = int(found.get("day", 1))
    if not 1 <= year <= 9999 or not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    day = min(day, calendar.monthrange(year, month)[1])
    days = datetime.date(year, month, day).toordinal() - _EPOCH
    if "day_of_year" in found:
        days = datetime.date(year, 1, 1).toordinal() - _EPOCH + int(found["day_of_year"]) - 1
    hour = int(found.get("hour", 0))
    if "hour24" in found:
        hour = int(found["hour24"]) % 24
    if "half_hour" in found or "half_hour0" in found:
        half = int(found.get("half_hour", found.get("half_hour0", "0")))
        if half > 12:
            return None
        hour = half % 12 + (12 if found.get("half", "AM").upper() == "PM" else 0)
    minute, second = int(found.get("minute", 0)), int(found.get("second", 0))
    if hour > 23 or minute > 59 or second > 59:
        return None
    nano = int(found.get("fraction", "0").ljust(9, "0")[:9]) if "fraction" in found else int(found.get("nano", 0))
    total = days * _DAY + ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + nano
    return total, _offset(found.get("offset"))


def _month(text: str) -> int:
    if text.lstrip("-").isdigit():
        return int(text)
    names = _SHORT_MONTHS if len(text) == 3 else _MONTHS
    return [n.lower() for n in names].index(text.lower())


def _offset(text: str | None) -> int | None:
    if text is None:
        return None
    if text in "Zz":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    return (-1 if text[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:4]) * 60)


_NAMES = {"M": (_SHORT_MONTHS, _MONTHS), "L": (_SHORT_MONTHS, _MONTHS), "E": (_SHORT_DAYS, _DAYS)}


def parse_lenient(text: str, pattern: str) -> tuple[int, int | None] | None:
    """Parses as SimpleDateFormat: numbers may be shorter, fields roll over, and text behind the end is ignored.

    >>> parse_lenient("32.1.1970 rest", "dd.MM.yyyy") == parse_time("01.02.1970", "dd.MM.yyyy")
    True
    """
    parts = [p for p in parts_of(pattern) if p.letter or p.text]
    found: dict[str, str] = {}
    at = 0
    for index, part in enumerate(parts):
        if not part.letter:
            if not text.startswith(part.text, at):
                return None
            at += len(part.text)
            continue
        following = parts[index + 1].letter if index + 1 < len(parts) else ""
        match = _lenient_field(part, following != "" and following not in "aEGZXxzV").match(text, at)
        if match is None:
            return None
        at = match.end()
        value = match[0].strip()
        if part.letter in "yu" and part.size == 2 and value.isdigit() and len(value) == 2:
            value = str(_full_year(int(value)))
        found[_FIELDS.get(part.letter, "ignored")] = value
    year, month = int(found.get("year", 1970)), _month(found["month"]) if "month" in found else 1
    total = year * 12 + month - 1
    if not 12 <= total < 120_000:
        return None
    days = datetime.date(total // 12, total % 12 + 1, 1).toordinal() - _EPOCH + int(found.get("day", 1)) - 1
    if "day_of_year" in found:
        days = datetime.date(total // 12, 1, 1).toordinal() - _EPOCH + int(found["day_of_year"]) - 1
    hour = int(found.get("hour", found.get("hour24", 0)))
    if "half_hour" in found or "half_hour0" in found:
        hour = int(found.get("half_hour", found.get("half_hour0", "0"))) % 12
        hour += 12 if found.get("half", "AM").upper() == "PM" else 0
    seconds = (hour * 60 + int(found.get("minute", 0))) * 60 + int(found.get("second", 0))
    nano = int(found.get("fraction", 0)) * 1_000_000  # milliseconds, however long the field is
    return days * _DAY + seconds * 1_000_000_000 + nano, _offset(found.get("offset"))


def _full_year(two_digits: int) -> int:
    """The year from 80 years ago to 20 years ahead that ends in two digits, as in SimpleDateFormat."""
    first = datetime.date.today().year - 80
    return first + (two_digits - first) % 100


def _lenient_field(part: Part, adjacent: bool) -> re.Pattern[str]:
    if part.letter in _NAMES and (part.letter == "E" or part.size >= 3):
        short, long = _NAMES[part.letter]
        return re.compile("|".join(n for n in (*long, *short) if n), re.I)
    if part.letter == "a":
        return re.compile("AM|PM", re.I)
    if part.letter in "ZXxzV":
        return re.compile(r"Z|[+-]\d{2}:?\d{2}|[A-Za-z_/]+")
    if adjacent:
        return re.compile(rf"[ \t]*(?:-\d{{1,{max(1, part.size - 1)}}}|\d{{1,{part.size}}})")
    return re.compile(r"[ \t]*-?\d+")
