"""Redaction of secrets in errors, logs and the job registry.

A `Secret` (penstock.connectors) registers its text here in every process that uses it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

HIDDEN = "***"
_MIN_LENGTH = 4  # shorter texts occur in ordinary words, and replacing them would reveal the secret

_NAMES = re.compile(
    r"passw(or)?d|passphrase|secret|token|credential|jaas\.config|api[._-]?key|access[._-]?key|private[._-]?key"
    r"|ssl\.key(store)?\.(pem|key)|ssl[._]key[._]pem|oauthbearer\.config|basic\.auth\.user\.info|\bauth\b$",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(r"\.(location|file|path|endpoint\.url|type|class|provider)$|\bsecret_?name$", re.IGNORECASE)
_USER_INFO = re.compile(r"(?P<scheme>\b[a-z][a-z0-9+.-]*://)(?P<user>[^\s/:@'\"]*):[^\s/@'\"]+@", re.IGNORECASE)
_NAMED = re.compile(r"""([\w.]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"';,]+))""")

_known: dict[str, None] = {}  # all encodings of all secrets
_pattern: re.Pattern[str] | None = None


def is_secret(name: str) -> bool:
    """Returns whether the value of an option with this name is a secret.

    >>> [is_secret(n) for n in ("sasl.password", "ssl.key.password", "sasl.jaas.config", "group.id", "ssl.key.location")]
    [True, True, True, False, False]
    """
    return _NAMES.search(name) is not None and _NOT_SECRET.search(name) is None


def register_secret(text: str) -> None:
    """Registers a text that is replaced in the errors and logs of this process from now on, in all its encodings."""
    global _pattern
    forms = [form for part in _parts(text) for form in _forms(part) if len(form) >= _MIN_LENGTH]
    new = [form for form in forms if form not in _known]
    if new:
        _known.update(dict.fromkeys(new))
        longest_first = sorted(_known, key=len, reverse=True)
        _pattern = re.compile("|".join(re.escape(form) for form in longest_first))


def redact(text: str) -> str:
    """Replaces registered secrets and passwords in URLs.

    >>> redact("cannot reach redis://app:s3same@127.0.0.1:6379/0")
    'cannot reach redis://app:***@127.0.0.1:6379/0'
    """
    if _pattern is not None:
        text = _pattern.sub(HIDDEN, text)
    if "://" in text:
        text = _USER_INFO.sub(rf"\g<scheme>\g<user>:{HIDDEN}@", text)
    return text


def redact_command(arguments: Iterable[str]) -> list[str]:
    """Replaces the values of secret options in the arguments of a command.

    >>> redact_command(["job.py", "--db-password", "sesame", "-D", "sasl.password=sesame", "--topic", "t"])
    ['job.py', '--db-password', '***', '-D', 'sasl.password=***', '--topic', 't']
    """
    result: list[str] = []
    hides_next = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if hides_next and not argument.startswith("--"):
            result.append(HIDDEN)
        elif equals and is_secret(name):
            result.append(f"{name}={HIDDEN}")
        else:
            result.append(redact(argument))
        hides_next = argument.startswith("-") and not equals and is_secret(argument)
    return result


def _parts(text: str) -> list[str]:
    """Returns a text and the passwords inside it, as in a JAAS configuration."""
    return [text, *(max(values) for name, *values in _NAMED.findall(text) if is_secret(name))]


def _forms(text: str) -> list[str]:
    """Returns a text in its encodings for URLs, repr, JSON and HTTP headers."""
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
