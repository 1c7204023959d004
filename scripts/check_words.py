"""Checks that names and texts use the usual words of the field instead of private ones.

    check_words.py           prints each use of a word of the list, and exits with 1 if there is any
    check_words.py --counts  prints how often each word is used

Run by `make check`. The list has words that earlier versions of this code base used with a meaning of their own. A sentence that
needs one of them in its ordinary meaning is added to ALLOWED, with the reason.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKED = ("src/**/*.py", "tests/**/*.py", "scripts/*.py", "examples/*.py", "bench/*.py", "docs/**/*.md", "*.md")

_LETTERS = r"(?<!dead[ _-])letters"

# A private word, and what to write instead.
WORDS = {
    r"told": "reported, logged, returned, emitted, notified",
    r"gives(?! up)": "returns, produces, has",
    r"go(?:es)? on": "continues",
    _LETTERS: "outputs, messages; 'dead letters' is fine",
    r"namesakes?": "the same slot, the same name",
    r"of (?:ours|(?:spark|flink|kafka|python|pyflink|arrow|penstock)'s)(?=[.,;:)|]|$| (?:and|or|that|which|is|are|has|in|for)\b)": (
        "put the owner first: 'Spark's ...'"
    ),
    r"one's own": "your own, custom",
    r"puts? aside": "rejects, sends to the dead-letter output, stores",
    r"(?:take|takes|took|taken) apart": "splits, decodes, parses",
    r"looks? after": "supervises, manages",
    r"mend(?:s|ed|ing)?": "repairs",
    r"in (?:our|people's|its own|their own) words": "as a readable message",
    r"none of the \w+'s": "say what happens instead",
    r"for ever": "forever, without limit",
    r"comes? true": "holds, passes",
    r"worked out": "computed",
    r"lays? over|laid over|lie over|lies over": "overlays",
    r"asks? for (?:it|them) again": "requests it again",
    r"wants? nothing": "say what is not needed",
    r"to be had": "available",
}

# (file, word) -> why this file may use the word.
ALLOWED = {
    ("scripts/check_words.py", None): "has the list itself",
    ("src/penstock/cli/run/watcher.py", "told"): "a JSON key of version 0.1.0",
    ("tests/unit/cli/test_watcher.py", "told"): "the same",
    ("src/penstock/formats/bad_record.py", "told"): "a deprecated public method",
    ("docs/reference/api/formats.md", "told"): "the same",
    ("src/penstock/testing/source_contract.py", r"go(?:es)? on"): "a public test method",
    ("docs/reference/api/testing.md", r"go(?:es)? on"): "the same",
    ("docs/reference/glossary.md", None): "names the words that were replaced",
}

_PATTERNS = {word: re.compile(rf"(?<![A-Za-z])(?:{word})(?![A-Za-z])", re.IGNORECASE) for word in WORDS}


def uses() -> Iterator[tuple[str, int, str, str]]:
    """File, line number, word and line of each use."""
    for pattern in CHECKED:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if (name, None) in ALLOWED:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                readable = line.replace("_", " ")
                for word, compiled in _PATTERNS.items():
                    if name.startswith("tests/") and word == _LETTERS:  # events of tests are letters
                        continue
                    if compiled.search(readable) and (name, word) not in ALLOWED:
                        yield name, number, word, line.strip()


def main(arguments: list[str]) -> int:
    found = list(uses())
    if "--counts" in arguments:
        for word, count in Counter(word for _, _, word, _ in found).most_common():
            print(f"{count:6}  {word}")
        return 0
    for name, number, word, line in found:
        print(f"{name}:{number}: '{word}': write {WORDS[word]}: {line[:100]}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
