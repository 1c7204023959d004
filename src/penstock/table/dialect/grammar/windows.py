"""ORDER BY, and the windows of OVER and WINDOW."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from penstock.table.dialect.grammar.special_calls import SpecialCalls


class Windows(SpecialCalls):
    """Order and windows."""

    def order_by(self) -> exp.Order:
        token = self._curr
        self.expect("ORDER", "BY")
        return self.node(exp.Order(expressions=self.comma_list(self.order_item)), token)

    def order_item(self) -> exp.Ordered:
        value = self.read_expression()
        descending = self.take_one("ASC", "DESC") == "DESC"
        first = None
        if self.take("NULLS"):
            first = self.expect_one("FIRST", "LAST") == "FIRST"
        return exp.Ordered(this=value, desc=descending, nulls_first=first)

    def window(self) -> exp.Window:
        """Reads (base PARTITION BY a ORDER BY b ROWS BETWEEN ... AND ...)."""
        token = self.expect_symbol(TokenType.L_PAREN)
        window = self.node(exp.Window(), token)
        if self.at_identifier() and not self.at_sequence("PARTITION", "BY"):
            window.set("alias", self.identifier("a window"))
        if self.take("PARTITION", "BY"):
            window.set("partition_by", self.comma_list(self.read_expression_without_query))
        if self.at("ORDER"):
            window.set("order", self.order_by())
        if self.at("ROWS", "RANGE"):
            window.set("spec", self._frame())
        # ALLOW PARTIAL and DISALLOW PARTIAL are accepted by Flink's parser, and have no effect.
        if self.take_one("ALLOW", "DISALLOW"):
            self.expect("PARTIAL")
        self.expect_symbol(TokenType.R_PAREN)
        return window

    def named_windows(self) -> list[exp.Window]:
        """Reads WINDOW w AS (...), v AS (...)."""
        self.expect("WINDOW")
        return self.comma_list(self._named_window)

    def _named_window(self) -> exp.Window:
        token = self._curr
        name = self.identifier("a window")
        self.expect("AS")
        window = self.window()
        window.set("this", name)
        return self.node(window, token)

    def _frame(self) -> exp.WindowSpec:
        kind = self.expect_one("ROWS", "RANGE")
        if self.take("BETWEEN"):
            start, start_side = self._bound()
            self.expect("AND")
            end, end_side = self._bound()
            return exp.WindowSpec(kind=kind, start=start, start_side=start_side, end=end, end_side=end_side)
        start, side = self._bound()
        return exp.WindowSpec(kind=kind, start=start, start_side=side)

    def _bound(self) -> tuple[str | exp.Expr, str | None]:
        if self.take("CURRENT", "ROW"):
            return "CURRENT ROW", None
        if self.take("UNBOUNDED"):
            return "UNBOUNDED", self.expect_one("PRECEDING", "FOLLOWING")
        value = self.read_expression()
        return value, self.expect_one("PRECEDING", "FOLLOWING")
