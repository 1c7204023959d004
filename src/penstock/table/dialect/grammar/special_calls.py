"""Functions with a syntax of their own: EXTRACT, TRIM, POSITION, TIMESTAMPADD and so on."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.table.dialect import nodes
from penstock.table.dialect.grammar.json_calls import JsonCalls

_UNIT_FIRST = ("TIMESTAMPADD", "TIMESTAMPDIFF")
_MATCH_NAVIGATION = ("PREV", "NEXT", "FIRST", "LAST")
_MATCH_CONSTANT = ("CLASSIFIER", "MATCH_NUMBER")
# SQL_TSI_DAY is the name of DAY in ODBC.
_ODBC_UNITS = {"SQL_TSI_FRAC_SECOND": "NANOSECOND", "FRAC_SECOND": "NANOSECOND", "SQL_TSI_MICROSECOND": "MICROSECOND"}
_RESERVED_UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "QUARTERS", "WEEKS")
_WEEKDAYS = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")


class SpecialCalls(JsonCalls):
    """Functions with keywords between their arguments. The arguments are brought into the usual order."""

    def special_call(self, token: Token, word: str) -> exp.Expr | None:
        rules = {
            "EXTRACT": self._extract,
            "POSITION": self._position,
            "TRIM": self._trim,
            "OVERLAY": self._overlay,
            "SUBSTRING": self._substring,
            "FLOOR": self._floor,
            "CEIL": self._floor,
            "CEILING": self._floor,
            "TRANSLATE": self._translate,
            "CONVERT": self._translate,
        }
        call = self.node(nodes.Call(this=token.text), token)
        if word in rules:
            self._advance(2)
            rules[word](call)
            self.expect_symbol(TokenType.R_PAREN)
            return self.after_call(call) if word in ("FLOOR", "CEIL", "CEILING") else call
        if word in _UNIT_FIRST:
            self._advance(2)
            call.set("unit", self._time_unit())
            self.expect_symbol(TokenType.COMMA)
            call.set("expressions", self.comma_list(self.read_expression))
            self.expect_symbol(TokenType.R_PAREN)
            return call
        if word in ("PREV", "NEXT", *_MATCH_CONSTANT, "DATE", "TIME", "TIMESTAMP", "DATETIME", "DATE_TRUNC"):
            self._advance()
            self.arguments(call)
            return call
        if word == "DESCRIPTOR":
            return self.descriptor()
        return self.json_call(token, word)

    def _time_unit(self) -> str:
        """Reads DAY, WEEK(MONDAY) and the like."""
        if self.at_identifier():
            unit = self.identifier().name.upper()
        else:
            unit = self.expect_one(*_RESERVED_UNITS)
        if unit == "WEEK" and self.at_symbol(TokenType.L_PAREN):
            self._advance()
            day = self.expect_one(*_WEEKDAYS)
            self.expect_symbol(TokenType.R_PAREN)
            return f"WEEK({day})"
        unit = _ODBC_UNITS.get(unit, unit.removeprefix("SQL_TSI_"))
        return unit.removesuffix("S") if unit in ("QUARTERS", "WEEKS") else unit

    def _extract(self, call: nodes.Call) -> None:
        call.set("unit", self._time_unit())
        self.expect("FROM")
        call.set("expressions", [self.read_expression()])

    def _position(self, call: nodes.Call) -> None:
        # The operand of IN is the second argument, so the first one ends before IN.
        arguments = [self.primary()]
        self.expect("IN")
        arguments.append(self.read_expression())
        if self.take("FROM"):
            arguments.append(self.read_expression())
        call.set("expressions", arguments)

    def _trim(self, call: nodes.Call) -> None:
        flag = self.take_one("BOTH", "LEADING", "TRAILING")
        first = None if flag and self.at("FROM") else self.read_expression()
        call.set("flag", flag or "BOTH")
        if self.take("FROM"):
            source = self.read_expression()
            call.set("expressions", [source] if first is None else [source, first])
        else:
            call.set("expressions", [first])

    def _overlay(self, call: nodes.Call) -> None:
        arguments = [self.read_expression()]
        self.expect("PLACING")
        arguments.append(self.read_expression())
        self.expect("FROM")
        arguments.append(self.read_expression())
        if self.take("FOR"):
            arguments.append(self.read_expression())
        call.set("expressions", arguments)

    def _substring(self, call: nodes.Call) -> None:
        arguments = [self.read_expression()]
        if not self.take("FROM"):
            self.expect_symbol(TokenType.COMMA)
        arguments.append(self.read_expression())
        if self.take("FOR") or self.take_symbol(TokenType.COMMA):
            arguments.append(self.read_expression())
        call.set("expressions", arguments)

    def _floor(self, call: nodes.Call) -> None:
        call.set("expressions", [self.read_expression()])
        if self.take("TO"):
            call.set("unit", self._time_unit())

    def _translate(self, call: nodes.Call) -> None:
        arguments = [self.read_expression()]
        if self.take("USING"):
            call.set("charset", self.identifier().name)
        while self.take_symbol(TokenType.COMMA):
            arguments.append(self.read_expression())
        call.set("expressions", arguments)
