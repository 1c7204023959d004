"""Methods of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.table.dialect import nodes
from penstock.table.expressions.base import ExpressionBase, call_text, node_of

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression


class Texts(ExpressionBase):
    """Text: its parts, its length and its forms."""

    def concat(self, other: object) -> Expression[str]:
        """Appends text."""
        return self._call("CONCAT", "concat", other)

    def starts_with(self, start_expr: object) -> Expression[bool]:
        """Whether the text or the bytes begin with others."""
        return self._call("STARTSWITH", "STARTSWITH", start_expr)

    def ends_with(self, end_expr: object) -> Expression[bool]:
        """Whether the text or the bytes end with others."""
        return self._call("ENDSWITH", "ENDSWITH", end_expr)

    def substring(self, begin_index: object, length: object = None) -> Expression[str]:
        """The part from a position, from 1, with a length or to the end."""
        if length is None:
            return self._call("SUBSTRING", "substring", begin_index)
        return self._call("SUBSTRING", "substring", begin_index, length)

    def substr(self, begin_index: object, length: object = None) -> Expression[str]:
        """The part from a position, from 1, with a length or to the end."""
        if length is None:
            return self._call("SUBSTR", "substr", begin_index)
        return self._call("SUBSTR", "substr", begin_index, length)

    def trim_leading(self, character: object = None) -> Expression[str]:
        """Removes a character, or blanks, at the start."""
        return self._trim("LEADING", character)

    def trim_trailing(self, character: object = None) -> Expression[str]:
        """Removes a character, or blanks, at the end."""
        return self._trim("TRAILING", character)

    def trim(self, character: object = None) -> Expression[str]:
        """Removes a character, or blanks, at both ends."""
        return self._trim("BOTH", character)

    def _trim(self, flag: str, character: object) -> Expression[str]:
        removed = [] if character is None else [node_of(character)]
        node = nodes.Call(this="TRIM", flag=flag, expressions=[self.node, *removed])
        character = " " if character is None else character
        return self._new(node, call_text("trim", flag != "TRAILING", flag != "LEADING", character, self))

    def ltrim(self, trim_str: object = None) -> Expression[str]:
        """Removes the characters of `trim_str`, or blanks, at the start."""
        if trim_str is None:
            return self._call("LTRIM", "ltrim")
        return self._call("LTRIM", "ltrim", trim_str)

    def rtrim(self, trim_str: object = None) -> Expression[str]:
        """Removes the characters of `trim_str`, or blanks, at the end."""
        if trim_str is None:
            return self._call("RTRIM", "rtrim")
        return self._call("RTRIM", "rtrim", trim_str)

    def btrim(self, trim_str: object = None) -> Expression[str]:
        """Removes the characters of `trim_str`, or blanks, at both ends."""
        if trim_str is None:
            return self._call("BTRIM", "BTRIM")
        return self._call("BTRIM", "BTRIM", trim_str)

    def replace(self, search: object, replacement: object) -> Expression[str]:
        """Replaces all occurrences of a text."""
        return self._call("REPLACE", "replace", search, replacement)

    def translate(self, from_str: object, to_str: object) -> Expression[str]:
        """Replaces each character of `from_str` with the one at the same place of `to_str`."""
        return self._call("TRANSLATE", "TRANSLATE3", from_str, to_str)

    @property
    def char_length(self) -> Expression[int]:
        """The number of characters."""
        return self._call("CHAR_LENGTH", "charLength")

    @property
    def upper_case(self) -> Expression[str]:
        """The text in upper case."""
        return self._call("UPPER", "upper")

    @property
    def lower_case(self) -> Expression[str]:
        """The text in lower case."""
        return self._call("LOWER", "lower")

    @property
    def init_cap(self) -> Expression[str]:
        """The text with an upper-case letter at the start of each word."""
        return self._call("INITCAP", "initCap")

    def position(self, haystack: object) -> Expression[int]:
        """Where this text first occurs in another one, from 1, or 0."""
        return self._call("POSITION", "position", haystack)

    def lpad(self, length: object, pad: object) -> Expression[str]:
        """Fills the text at the start up to a length, or shortens it."""
        return self._call("LPAD", "lpad", length, pad)

    def rpad(self, length: object, pad: object) -> Expression[str]:
        """Fills the text at the end up to a length, or shortens it."""
        return self._call("RPAD", "rpad", length, pad)

    def overlay(self, new_string: object, starting: object, length: object = None) -> Expression[str]:
        """Replaces the part from a position, from 1, with another text."""
        if length is None:
            return self._call("OVERLAY", "overlay", new_string, starting)
        return self._call("OVERLAY", "overlay", new_string, starting, length)

    @property
    def from_base64(self) -> Expression[str]:
        """Decodes base64."""
        return self._call("FROM_BASE64", "fromBase64")

    @property
    def to_base64(self) -> Expression[str]:
        """Encodes in base64."""
        return self._call("TO_BASE64", "toBase64")

    @property
    def ascii(self) -> Expression[int]:
        """The number of the first character."""
        return self._call("ASCII", "ascii")

    @property
    def chr(self) -> Expression[str]:
        """The character with a number."""
        return self._call("CHR", "chr")

    def decode(self, charset: object) -> Expression[str]:
        """Decodes bytes with a character set."""
        return self._call("DECODE", "decode", charset)

    def encode(self, charset: object) -> Expression[bytes]:
        """Encodes the text with a character set."""
        return self._call("ENCODE", "encode", charset)

    def left(self, length: object) -> Expression[str]:
        """The first characters."""
        return self._call("LEFT", "left", length)

    def right(self, length: object) -> Expression[str]:
        """The last characters."""
        return self._call("RIGHT", "right", length)

    def instr(self, s: object) -> Expression[int]:
        """Where another text first occurs, from 1, or 0."""
        return self._call("INSTR", "instr", s)

    def locate(self, s: object, pos: object = None) -> Expression[int]:
        """Where this text first occurs in another one, from 1, or 0."""
        if pos is None:
            return self._call("LOCATE", "locate", s)
        return self._call("LOCATE", "locate", s, pos)

    def url_decode(self) -> Expression[str]:
        """Decodes %20 and the like."""
        return self._call("URL_DECODE", "URL_DECODE")

    def url_encode(self) -> Expression[str]:
        """Encodes characters that a URL must not have."""
        return self._call("URL_ENCODE", "URL_ENCODE")

    def parse_url(self, part_to_extract: object, key: object = None) -> Expression[str]:
        """A part of a URL: HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO; with a key, its value in QUERY."""
        if key is None:
            return self._call("PARSE_URL", "parseUrl", part_to_extract)
        return self._call("PARSE_URL", "parseUrl", part_to_extract, key)

    def inet_aton(self) -> Expression[int]:
        """The number of an IPv4 address."""
        return self._call("INET_ATON", "INET_ATON")

    def inet_ntoa(self) -> Expression[str]:
        """The IPv4 address of a number."""
        return self._call("INET_NTOA", "INET_NTOA")

    @property
    def is_valid_utf8(self) -> Expression[bool]:
        """Whether bytes are UTF-8."""
        return self._call("IS_VALID_UTF8", "IS_VALID_UTF8")

    @property
    def make_valid_utf8(self) -> Expression[str]:
        """The text of bytes, with a replacement for what is no UTF-8."""
        return self._call("MAKE_VALID_UTF8", "MAKE_VALID_UTF8")

    def repeat(self, n: object) -> Expression[str]:
        """The text n times."""
        return self._call("REPEAT", "repeat", n)

    @property
    def reverse(self) -> Expression[str]:
        """The text from its end to its start."""
        return self._call("REVERSE", "reverse")

    def split_index(self, separator: object, index: object) -> Expression[str]:
        """The part at an index, from 0, of the text that separators divide."""
        return self._call("SPLIT_INDEX", "splitIndex", separator, index)

    def printf(self, *obj: object) -> Expression[str]:
        """Fills values into this format, such as `%d` and `%s`."""
        return self._call("PRINTF", "PRINTF", *obj)

    def elt(self, expr: object, *exprs: object) -> Expression[Any]:
        """The argument whose position, from 1, is this number."""
        return self._call("ELT", "ELT", expr, *exprs)
