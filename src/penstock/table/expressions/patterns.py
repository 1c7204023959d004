"""Methods that compare text with patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.table.expressions.base import ExpressionBase, call_text, node_of

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression


class Patterns(ExpressionBase):
    """LIKE, SIMILAR TO and regular expressions of Java."""

    def like(self, pattern: object, escape: object = None) -> Expression[bool]:
        """Whether the text matches a pattern, where % is any text and _ any character."""
        if escape is None:
            return self._binary(exp.Like, "LIKE", self, pattern)
        node = exp.Escape(this=exp.Like(this=self.node, expression=node_of(pattern)), expression=node_of(escape))
        return self._new(node, call_text("LIKE", self, pattern, escape))

    def similar(self, pattern: object) -> Expression[bool]:
        """Whether the text matches a regular expression of SQL."""
        return self._binary(exp.SimilarTo, "similar", self, pattern)

    def regexp(self, regex: object) -> Expression[bool]:
        """Whether a part of the text matches."""
        return self._call("REGEXP", "regexp", regex)

    def regexp_count(self, regex: object) -> Expression[int]:
        """The number of matches."""
        return self._call("REGEXP_COUNT", "REGEXP_COUNT", regex)

    def regexp_replace(self, regex: object, replacement: object) -> Expression[str]:
        """Replaces all matches."""
        return self._call("REGEXP_REPLACE", "regexpReplace", regex, replacement)

    def regexp_extract(self, regex: object, extract_index: object = None) -> Expression[str]:
        """The first match, or one of its groups."""
        if extract_index is None:
            return self._call("REGEXP_EXTRACT", "regexpExtract", regex)
        return self._call("REGEXP_EXTRACT", "regexpExtract", regex, extract_index)

    def regexp_extract_all(self, regex: object, extract_index: object = None) -> Expression[list[str]]:
        """All matches, or one of their groups."""
        if extract_index is None:
            return self._call("REGEXP_EXTRACT_ALL", "REGEXP_EXTRACT_ALL", regex)
        return self._call("REGEXP_EXTRACT_ALL", "REGEXP_EXTRACT_ALL", regex, extract_index)

    def regexp_instr(self, regex: object) -> Expression[int]:
        """Where the first match begins, from 1, or 0."""
        return self._call("REGEXP_INSTR", "REGEXP_INSTR", regex)

    def regexp_substr(self, regex: object) -> Expression[str]:
        """The first match."""
        return self._call("REGEXP_SUBSTR", "REGEXP_SUBSTR", regex)
