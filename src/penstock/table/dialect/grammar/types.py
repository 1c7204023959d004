"""Data types, in casts and in columns of tables."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from penstock.table.dialect.data_type import IntervalQualifier, SqlField, SqlType
from penstock.table.dialect.grammar.texts import Texts

_PLAIN = {
    "BOOLEAN": "BOOLEAN",
    "INTEGER": "INT",
    "INT": "INT",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "BIGINT": "BIGINT",
    "REAL": "REAL",
    "FLOAT": "FLOAT",
    "VARIANT": "VARIANT",
    "STRING": "STRING",
    "BYTES": "BYTES",
    "DATE": "DATE",
    "BITMAP": "BITMAP",
}
_WITH_PRECISION = {"VARCHAR": "VARCHAR", "VARBINARY": "VARBINARY", "TIMESTAMP_LTZ": "TIMESTAMP_LTZ"}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC", "ANY")
_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_ENDS = {"YEAR": ("MONTH",), "DAY": ("HOUR", "MINUTE", "SECOND"), "HOUR": ("MINUTE", "SECOND"), "MINUTE": ("SECOND",)}


class Types(Texts):
    """The grammar of data types."""

    def column_type(self) -> SqlType:
        """Reads a data type with NULL or NOT NULL, as in the columns of a table."""
        read = self._type_name()
        while True:
            nullable = self._nullability()
            kind = self.take_one("ARRAY", "MULTISET")
            if kind is None:
                return _with_nullability(read, nullable)
            read = SqlType(
                kind, children=(SqlField(_with_nullability(read, nullable)),), line=read.line, column=read.column
            )

    def cast_type(self) -> SqlType:
        """Reads a data type without NULL or NOT NULL, as in CAST."""
        token = self._curr
        if self.take("INTERVAL"):
            return SqlType("INTERVAL", qualifier=self.interval_qualifier(), line=token.line, column=token.col)
        read = self._type_name()
        while kind := self.take_one("ARRAY", "MULTISET"):
            read = SqlType(kind, children=(SqlField(read),), line=read.line, column=read.column)
        return read

    def _type_name(self) -> SqlType:
        token = self._curr
        word = token.text.upper() if token and token.token_type == TokenType.VAR else ""
        if word in _PLAIN:
            self._advance()
            return self._type(token, _PLAIN[word])
        if word in _WITH_PRECISION:
            self._advance()
            return self._type(token, _WITH_PRECISION[word], self._precision())
        if word in ("CHAR", "CHARACTER", "BINARY"):
            self._advance()
            name = "BINARY" if word == "BINARY" else "CHAR"
            return self._type(token, f"VAR{name}" if self.take("VARYING") else name, self._precision())
        if word == "DOUBLE":
            self._advance()
            self.take("PRECISION")
            return self._type(token, "DOUBLE")
        if word in _DECIMALS:
            self._advance()
            return self._type(token, "ANY" if word == "ANY" else "DECIMAL", self._precision(scale=True))
        if word in ("TIME", "TIMESTAMP"):
            self._advance()
            precision = self._precision()
            return self._type(token, f"{word}_LTZ" if self._local_time_zone() else word, precision)
        nested = {"ROW": self._row, "MAP": self._map, "RAW": self._raw, "STRUCTURED": self._structured}.get(word)
        if nested is not None and self.ahead(1) and self.at_nested(word):
            self._advance()
            return nested(token)
        if word in ("ARRAY", "MULTISET"):
            self._advance()
            self.expect_symbol(TokenType.LT)
            element = self._nullable_type()
            self.expect_symbol(TokenType.GT)
            return self._type(token, word, children=(SqlField(element),))
        return self._type(token, "USER", tuple(part.name for part in self.identifiers("a data type")))

    def at_nested(self, word: str) -> bool:
        """ROW and RAW are reserved. MAP is a name unless < follows."""
        return word != "MAP" or self.at_symbol(TokenType.LT, 1)

    def _nullable_type(self) -> SqlType:
        read = self._type_name()
        return _with_nullability(read, self._nullability())

    def _row(self, token: Token) -> SqlType:
        if self.take_symbol(TokenType.NEQ):  # ROW<>
            return self._type(token, "ROW")
        if self.take_symbol(TokenType.L_PAREN):
            end = TokenType.R_PAREN
        else:
            self.expect_symbol(TokenType.LT)
            end = TokenType.GT
        fields = () if self.at_symbol(end) else tuple(self.comma_list(self._field))
        self.expect_symbol(end)
        return self._type(token, "ROW", children=fields)

    def _field(self) -> SqlField:
        name = self.identifier("the name of a field").name
        read = self.column_type()
        return SqlField(read, name, self.string() if self._curr.token_type == TokenType.STRING else None)

    def _map(self, token: Token) -> SqlType:
        self.expect_symbol(TokenType.LT)
        key = self.column_type()
        self.expect_symbol(TokenType.COMMA)
        value = self.column_type()
        self.expect_symbol(TokenType.GT)
        return self._type(token, "MAP", children=(SqlField(key), SqlField(value)))

    def _raw(self, token: Token) -> SqlType:
        self.expect_symbol(TokenType.L_PAREN)
        name = self.string()
        self.expect_symbol(TokenType.COMMA)
        serializer = self.string()
        self.expect_symbol(TokenType.R_PAREN)
        return self._type(token, "RAW", (name, serializer))

    def _structured(self, token: Token) -> SqlType:
        self.expect_symbol(TokenType.LT)
        name = self.string()
        fields = tuple(self.comma_list(self._field)) if self.take_symbol(TokenType.COMMA) else ()
        self.expect_symbol(TokenType.GT)
        return self._type(token, "STRUCTURED", (name,), fields)

    def _type(
        self,
        token: Token,
        name: str,
        arguments: tuple[int | str, ...] = (),
        children: tuple[SqlField, ...] = (),
    ) -> SqlType:
        return SqlType(name, arguments, children=children, line=token.line, column=token.col)

    def _precision(self, scale: bool = False) -> tuple[int, ...]:
        if not self.take_symbol(TokenType.L_PAREN):
            return ()
        numbers = [self.unsigned_integer()]
        if scale and self.take_symbol(TokenType.COMMA):
            numbers.append(self.unsigned_integer())
        self.expect_symbol(TokenType.R_PAREN)
        return tuple(numbers)

    def _local_time_zone(self) -> bool:
        if self.at_sequence("WITHOUT", "TIME"):
            self.expect("WITHOUT", "TIME", "ZONE")
        elif self.at_sequence("WITH", "LOCAL"):
            self.expect("WITH", "LOCAL", "TIME", "ZONE")
            return True
        return False

    def _nullability(self) -> bool | None:
        if self.take("NOT", "NULL"):
            return False
        return True if self.take("NULL") else None

    # --------------------------------------------------------------------------------------------- intervals

    def at_interval_unit(self) -> bool:
        return self.at(*_UNITS, *(f"{unit}S" for unit in _UNITS))

    def interval_qualifier(self, single: bool = False) -> IntervalQualifier:
        """Reads DAY, DAY(3) TO SECOND(6) and the like; with `single`, one unit only."""
        start = self._unit()
        precision = fraction = end = None
        if start == "SECOND" and self.take_symbol(TokenType.L_PAREN):
            precision = self.unsigned_integer()
            fraction = self.unsigned_integer() if self.take_symbol(TokenType.COMMA) else None
            self.expect_symbol(TokenType.R_PAREN)
        elif numbers := self._precision():
            precision = numbers[0]
        if not single and start in _ENDS and self.take("TO"):
            end = self._unit(_ENDS[start])
            if end == "SECOND" and (numbers := self._precision()):
                fraction = numbers[0]
        return IntervalQualifier(start, end, precision, fraction)

    def _unit(self, units: tuple[str, ...] = _UNITS) -> str:
        """Reads a unit, which may be written in the plural."""
        return self.expect_one(*units, *(f"{unit}S" for unit in units)).rstrip("S")


def _with_nullability(read: SqlType, nullable: bool | None) -> SqlType:
    if nullable is None:
        return read
    return SqlType(read.name, read.arguments, nullable, read.children, read.qualifier, read.line, read.column)
