"""Texts that nobody may read: they are replaced in whatever leaves a process, which is errors, logs and the registry.

A `Secret` (penstock.connectors) tells its text here in every process that holds it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

HIDDEN = "***"
_LEAST = 4  # a shorter text is part of ordinary words: replacing it would only show where it is

_NAMES = re.compile(
    r"passw(or)?d|passphrase|secret|token|credential|jaas\.config|api[._-]?key|access[._-]?key|private[._-]?key"
    r"|ssl\.key(store)?\.(pem|key)|ssl[._]key[._]pem|oauthbearer\.config|basic\.auth\.user\.info|\bauth\b$",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(r"\.(location|file|path|endpoint\.url|type|class|provider)$|\bsecret_?name$", re.IGNORECASE)
_USER_INFO = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<user>[^\s/:@'\"]*):[^\s/@'\"]+@", re.IGNORECASE)
_NAMED = re.compile(r"""([\w.]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"';,]+))""")

_known: dict[str, None] = {}  # every form of every text
_pattern: re.Pattern[str] | None = None


def is_secret(name: str) -> bool:
    """Whether an option of this name holds a secret.

    >>> [is_secret(n) for n in ("sasl.password", "ssl.key.password", "sasl.jaas.config", "group.id", "ssl.key.location")]
    [True, True, True, False, False]
    """
    return _NAMES.search(name) is not None and _NOT_SECRET.search(name) is None


def hide(text: str) -> None:
    """From now on this text is replaced in this process's errors and logs, however it is quoted."""
    global _pattern
    forms = [form for part in _parts(text) for form in _forms(part) if len(form) >= _LEAST]
    fresh = [form for form in forms if form not in _known]
    if fresh:
        _known.update(dict.fromkeys(fresh))
        longest_first = sorted(_known, key=len, reverse=True)
        _pattern = re.compile("|".join(re.escape(form) for form in longest_first))


def redacted(text: str) -> str:
    """A text without secrets: neither those that this process knows, nor passwords within URLs.

    >>> redacted("cannot reach redis://app:s3same@127.0.0.1:6379/0")
    'cannot reach redis://app:***@127.0.0.1:6379/0'
    """
    if _pattern is not None:
        text = _pattern.sub(HIDDEN, text)
    if "://" in text:
        text = _USER_INFO.sub(rf"\g<scheme>\g<user>:{HIDDEN}@", text)
    return text


def redacted_command(words: Iterable[str]) -> list[str]:
    """The words of a command, without the values of options whose names say that they are secret.

    >>> redacted_command(["job.py", "--db-password", "sesame", "-D", "sasl.password=sesame", "--topic", "t"])
    ['job.py', '--db-password', '***', '-D', 'sasl.password=***', '--topic', 't']
    """
    told: list[str] = []
    hides_next = False
    for word in words:
        name, equals, _ = word.partition("=")
        if hides_next and not word.startswith("--"):
            told.append(HIDDEN)
        elif equals and is_secret(name):
            told.append(f"{name}={HIDDEN}")
        else:
            told.append(redacted(word))
        hides_next = word.startswith("-") and not equals and is_secret(word)
    return told


def _parts(text: str) -> list[str]:
    """A text, and the passwords that are named in it, as in a JAAS configuration."""
    return [text, *(max(values) for name, *values in _NAMED.findall(text) if is_secret(name))]


def _forms(text: str) -> list[str]:
    """How a text looks in URLs, in what repr and JSON make of it, and in a header."""
    escaped = text.encode("unicode_escape").decode()
    encoded = base64.b64encode(text.encode()).decode().rstrip("=")
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return [
        text,
        *text.splitlines(),
        quote(text, safe=""),
        quote_plus(text),
        repr(text)[1:-1],
        escaped,
        quoted,
        encoded,
    ]
