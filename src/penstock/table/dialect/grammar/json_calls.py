"""The clauses of the JSON functions: RETURNING, ON EMPTY, ON ERROR, WRAPPER, KEY ... VALUE, ON NULL."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.table.dialect import nodes
from penstock.table.dialect.grammar.calls import Calls


class JsonCalls(Calls):
    """JSON_VALUE, JSON_QUERY, JSON_EXISTS, JSON_OBJECT, JSON_ARRAY and their aggregates."""

    def json_call(self, token: Token, word: str) -> exp.Expr | None:
        rules = {
            "JSON_EXISTS": self._json_exists,
            "JSON_VALUE": self._json_value,
            "JSON_QUERY": self._json_query,
            "JSON_OBJECT": self._json_object,
            "JSON_OBJECTAGG": self._json_object_aggregate,
            "JSON_ARRAY": self._json_array,
            "JSON_ARRAYAGG": self._json_array_aggregate,
        }
        if word not in rules:
            return None
        self._advance(2)
        call = self.node(nodes.Call(this=token.text), token)
        rules[word](call)
        self.expect_symbol(TokenType.R_PAREN)
        return self.after_call(call) if word.endswith("AGG") else call

    def _document_and_path(self, call: nodes.Call) -> None:
        document = self.read_expression_without_query()
        if self.take("FORMAT"):
            self._representation()
        self.expect_symbol(TokenType.COMMA)
        call.set("expressions", [document, self.read_expression_without_query()])
        if self.take("PASSING"):
            call.set("passing", self.comma_list(self._passed))

    def _passed(self) -> exp.Expr:
        value = self.read_expression_without_query()
        self.expect("AS")
        return exp.Alias(this=value, alias=self.identifier())

    def _representation(self) -> None:
        self.expect("JSON")
        if self.take("ENCODING"):
            self.expect_one("UTF8", "UTF16", "UTF32")

    def _returning(self, call: nodes.Call) -> None:
        if self.take("RETURNING"):
            token = self._curr
            call.set("returning", self.node(nodes.TypeReference(this=self.cast_type()), token))

    def _json_exists(self, call: nodes.Call) -> None:
        self._document_and_path(call)
        token = self._curr
        if word := self.take_one("TRUE", "FALSE", "UNKNOWN", "ERROR"):
            self.expect("ON", "ERROR")
            call.set("on_error", self.node(nodes.Behavior(this=word), token))

    def _json_value(self, call: nodes.Call) -> None:
        self._document_and_path(call)
        self._returning(call)
        while self.at("ERROR", "NULL", "DEFAULT"):
            token = self._curr
            word = self.expect_one("ERROR", "NULL", "DEFAULT")
            value = self.read_expression_without_query() if word == "DEFAULT" else None
            self._behavior(call, self.node(nodes.Behavior(this=word, expression=value), token))

    def _json_query(self, call: nodes.Call) -> None:
        self._document_and_path(call)
        self._returning(call)
        self._wrapper(call)
        while self.at("ERROR", "NULL", "EMPTY"):
            token = self._curr
            word = self.expect_one("ERROR", "NULL", "EMPTY")
            if word == "EMPTY":
                word = f"EMPTY {self.expect_one('ARRAY', 'OBJECT')}"
            self._behavior(call, self.node(nodes.Behavior(this=word), token))

    def _behavior(self, call: nodes.Call, behavior: nodes.Behavior) -> None:
        self.expect("ON")
        call.set("on_empty" if self.expect_one("EMPTY", "ERROR") == "EMPTY" else "on_error", behavior)

    def _wrapper(self, call: nodes.Call) -> None:
        if self.take("WITHOUT"):
            wrapper = "WITHOUT"
        elif self.take("WITH"):
            wrapper = f"WITH {self.take_one('CONDITIONAL', 'UNCONDITIONAL') or 'UNCONDITIONAL'}"
        else:
            return
        self.take("ARRAY")
        self.expect("WRAPPER")
        call.set("wrapper", wrapper)

    def _json_object(self, call: nodes.Call) -> None:
        if not self.at_symbol(TokenType.R_PAREN) and not self._at_null_clause():
            call.set("expressions", self.comma_list(self._key_value))
        self._null_clause(call)

    def _json_object_aggregate(self, call: nodes.Call) -> None:
        call.set("expressions", [self._key_value()])
        self._null_clause(call)

    def _key_value(self) -> nodes.KeyValue:
        token = self._curr
        # KEY is not reserved: it may be the name of a column.
        keyed = self.at("KEY") and not (
            self.word_ahead(1, "VALUE") or self.at_symbol(TokenType.COLON, 1) or self.at_symbol(TokenType.DOT, 1)
        )
        if keyed:
            self._advance()
        key = self.read_expression_without_query()
        if not self.take("VALUE"):
            if keyed:
                self.fail("VALUE")
            self.expect_symbol(TokenType.COLON)
        value = self.read_expression_without_query()
        if self.take("FORMAT"):
            self._representation()
        return self.node(nodes.KeyValue(this=key, expression=value), token)

    def _json_array(self, call: nodes.Call) -> None:
        if not self.at_symbol(TokenType.R_PAREN) and not self._at_null_clause():
            call.set("expressions", self.comma_list(self._element))
        self._null_clause(call)

    def _element(self) -> exp.Expr:
        value = self.read_expression_without_query()
        if self.take("FORMAT"):
            self._representation()
        return value

    def _json_array_aggregate(self, call: nodes.Call) -> None:
        call.set("expressions", [self._element()])
        if self.at_sequence("ORDER", "BY"):
            call.set("order", self.order_by())
        self._null_clause(call)

    def _at_null_clause(self) -> bool:
        return self.at_sequence("NULL", "ON", "NULL") or self.at_sequence("ABSENT", "ON", "NULL")

    def _null_clause(self, call: nodes.Call) -> None:
        for word in ("NULL", "ABSENT"):
            if self.take(word, "ON", "NULL"):
                call.set("on_null", word)
