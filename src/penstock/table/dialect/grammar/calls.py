"""Calls of functions. Those with a syntax of their own are in `special_calls` and `json_calls`."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.table.dialect import nodes
from penstock.table.dialect.grammar.primaries import Primaries
from penstock.table.dialect.keywords import RESERVED_FUNCTIONS


class Calls(Primaries):
    """Calls of functions, with their aggregate and window clauses."""

    def special_call(self, token: Token, word: str) -> exp.Expr | None:
        """Reads a call with a syntax of its own, if this is the name of such a function: see `SpecialCalls`."""
        raise NotImplementedError

    def window(self) -> exp.Window:
        """Reads a window behind OVER: see `Windows`."""
        raise NotImplementedError

    def order_by(self) -> exp.Order:
        """Reads ORDER BY: see `Windows`."""
        raise NotImplementedError

    def call(self) -> exp.Expr | None:
        token = self._curr
        quoted = token.token_type == TokenType.IDENTIFIER
        word = token.text.upper() if token.token_type == TokenType.VAR else ""
        if word in ("RUNNING", "FINAL") and not self.at_symbol(TokenType.L_PAREN, 1):
            return self._match_call(word)
        if word == "MODEL" and self.at_identifier(1):
            self._advance()
            return self.node(nodes.ModelArgument(this=self.table_name()), token)
        if word and self.at_symbol(TokenType.L_PAREN, 1):
            special = self.special_call(token, word)
            if special is not None:
                return special
        if word in RESERVED_FUNCTIONS:
            if not self.at_symbol(TokenType.L_PAREN, 1):
                return None
        elif not (quoted or word) or not self.at_identifier() or not self._parenthesis_after_name():
            return None
        return self._named_call()

    def _parenthesis_after_name(self) -> bool:
        """Does a parenthesis follow this name of one or more parts?"""
        distance = 1
        while self.at_symbol(TokenType.DOT, distance) and self.at_identifier(distance + 1):
            distance += 2
        return self.at_symbol(TokenType.L_PAREN, distance)

    def _match_call(self, word: str) -> exp.Expr | None:
        """Reads RUNNING or FINAL before a call, as in MEASURES."""
        token = self.ahead(1)
        if token is None or not self.at_symbol(TokenType.L_PAREN, 2):
            return None
        self._advance()
        call = self.call()
        if call is None:
            self.fail("a function")
        for inner in call.find_all(nodes.Call):
            inner.set("flag", word)
            break
        return call

    def _named_call(self) -> exp.Expr:
        token = self._curr
        word = token.text.upper()
        if token.token_type != TokenType.IDENTIFIER and word in RESERVED_FUNCTIONS:
            self._advance()
            parts = [exp.Identifier(this=token.text)]
        else:
            parts = self.identifiers("the name of a function")
        call = self.node(nodes.Call(this=parts[-1].name), token)
        if len(parts) > 1:
            call.set("path", [part.name for part in parts[:-1]])
        self.arguments(call)
        return self.after_call(call)

    def arguments(self, call: nodes.Call) -> None:
        """Reads the arguments in parentheses."""
        self.expect_symbol(TokenType.L_PAREN)
        if self.at_symbol(TokenType.STAR) and self.at_symbol(TokenType.R_PAREN, 1):
            self._advance(2)
            call.set("expressions", [self.node(exp.Star(), self._tokens[self._index - 2])])
            return
        if self.take_symbol(TokenType.R_PAREN):
            return
        call.set("quantifier", self.take_one("DISTINCT", "ALL"))
        arguments = [self.argument(first=True)]
        while self.take_symbol(TokenType.COMMA):
            arguments.append(self.argument())
        call.set("expressions", arguments)
        if call.name.upper() == "ARRAY_AGG":
            call.set("nulls", self._null_treatment())
            if self.at_sequence("ORDER", "BY"):
                call.set("order", self.order_by())
            if self.take("SEPARATOR"):
                call.set("separator", self.string())
        self.expect_symbol(TokenType.R_PAREN)

    def after_call(self, call: nodes.Call) -> exp.Expr:
        """Reads IGNORE NULLS, WITHIN GROUP, FILTER and OVER."""
        if call.args.get("nulls") is None:
            call.set("nulls", self._null_treatment())
        result: exp.Expr = call
        if self.take("WITHIN", "GROUP"):
            self.expect_symbol(TokenType.L_PAREN)
            result = exp.WithinGroup(this=result, expression=self.order_by())
            self.expect_symbol(TokenType.R_PAREN)
        if self.at_sequence("FILTER") and self.at_symbol(TokenType.L_PAREN, 1):
            self._advance(2)
            self.expect("WHERE")
            result = exp.Filter(this=result, expression=exp.Where(this=self.read_expression()))
            self.expect_symbol(TokenType.R_PAREN)
        return self._over(result)

    def _over(self, this: exp.Expr) -> exp.Expr:
        if not self.take("OVER"):
            return this
        token = self._prev
        if self.at_symbol(TokenType.L_PAREN):
            window = self.window()
            window.set("this", this)
        else:
            window = exp.Window(this=this, alias=self.identifier("a window"))
        return self.node(window, token)

    def _null_treatment(self) -> str | None:
        for word in ("IGNORE", "RESPECT"):
            if self.take(word, "NULLS"):
                return word
        return None

    # -------------------------------------------------------------------------------------------- arguments

    def argument(self, first: bool = False) -> exp.Expr:
        """Reads an argument: an expression, a table, a descriptor, a model, DEFAULT, and any of these with a name."""
        token = self._curr
        if self.at_identifier() and self.at_symbol(TokenType.FARROW, 1):
            name = self.identifier()
            self._advance()
            return self.node(nodes.NamedArgument(this=name, expression=self._argument_value(first)), token)
        return self._argument_value(first)

    def _argument_value(self, first: bool) -> exp.Expr:
        token = self._curr
        if self.take("DEFAULT"):
            return self.node(nodes.DefaultArgument(), token)
        if self.take("TABLE"):
            return self._partitioned(self.node(nodes.TableArgument(this=self.table_name()), token))
        if self.at("DESCRIPTOR") and self.at_symbol(TokenType.L_PAREN, 1):
            return self.descriptor()
        if self.at_query() and self._is_table_argument(first):
            return self._partitioned(self.node(nodes.TableArgument(this=self.query()), token))
        return self.read_expression()

    def _is_table_argument(self, first: bool) -> bool:
        """A query without parentheses is a table, and is possible as the first argument only.

        A query with parentheses is a table if PARTITION BY or ORDER BY follows it, and a value otherwise.
        """
        if not self.at_symbol(TokenType.L_PAREN):
            return first
        after = self._after_parentheses(0)
        return self.word_ahead(1, "TABLE") or (after is not None and after.text.upper() in ("PARTITION", "ORDER"))

    def table_name(self) -> exp.Table:
        """Reads the name of a table: see `Tables`."""
        raise NotImplementedError

    def _partitioned(self, table: nodes.TableArgument) -> nodes.TableArgument:
        if self.take("PARTITION", "BY"):
            if self.at_symbol(TokenType.L_PAREN):
                table.set("partition_by", self.parenthesized(self._simple_column))
            else:
                table.set("partition_by", [self._simple_column()])
        if self.take("ORDER", "BY"):
            if self.take_symbol(TokenType.L_PAREN):
                items = self.comma_list(self.order_item)
                self.expect_symbol(TokenType.R_PAREN)
            else:
                items = [self.order_item()]
            table.set("order", exp.Order(expressions=items))
        return table

    def _simple_column(self) -> exp.Column:
        token = self._curr
        return self.node(exp.Column(this=self.identifier("the name of a column")), token)

    def order_item(self) -> exp.Ordered:
        """Reads an item of ORDER BY: see `Windows`."""
        raise NotImplementedError

    def descriptor(self) -> exp.Expr:
        """Reads DESCRIPTOR(a, b)."""
        token = self._curr
        self._advance()
        names = self.parenthesized(lambda: self.identifier("the name of a column"))
        return self.node(nodes.Descriptor(expressions=names), token)
