"""The text of logical types, as DESCRIBE shows them, and its parser."""

from __future__ import annotations

import re

from penstock.types.logical.kinds import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_LENGTH,
    MILLISECONDS,
    MONTHS,
    NULL,
    SMALLINT,
    STRING,
    TINYINT,
    ArrayType,
    BinaryType,
    BitmapType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    Field,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RawType,
    RowType,
    TimestampType,
    TimeType,
    VariantType,
    YearMonthIntervalType,
)


def summary(type_: LogicalType, time_attribute: bool = True) -> str:
    """Returns the text of a type, with NOT NULL where it applies.

    >>> summary(RowType((Field("a", INT.with_nullable(False)), Field("b c", STRING))))
    'ROW<`a` INT NOT NULL, `b c` STRING>'
    >>> summary(TimestampType(3, attribute="ROWTIME"))
    'TIMESTAMP(3) *ROWTIME*'
    """
    text = bare(type_) + ("" if type_.nullable or isinstance(type_, NullType) else " NOT NULL")
    if time_attribute and isinstance(type_, TimestampType) and type_.attribute:
        text += f" *{type_.attribute}*"
    return text


def bare(type_: LogicalType) -> str:
    """Returns the text of a type without its own nullability.

    >>> bare(DecimalType(10, 2)), bare(CharType(3, varying=False)), bare(STRING)
    ('DECIMAL(10, 2)', 'CHAR(3)', 'STRING')
    """
    match type_:
        case BooleanType():
            return "BOOLEAN"
        case IntegerType():
            return IntegerType.NAMES[type_.bits]
        case FloatType():
            return "FLOAT" if type_.bits == 32 else "DOUBLE"
        case DecimalType():
            return f"DECIMAL({type_.precision}, {type_.scale})"
        case CharType():
            if type_.varying and type_.length == MAX_LENGTH:
                return "STRING"
            return f"{'VARCHAR' if type_.varying else 'CHAR'}({type_.length})"
        case BinaryType():
            if type_.varying and type_.length == MAX_LENGTH:
                return "BYTES"
            return f"{'VARBINARY' if type_.varying else 'BINARY'}({type_.length})"
        case DateType():
            return "DATE"
        case TimeType():
            return f"TIME({type_.precision})"
        case TimestampType():
            return f"TIMESTAMP{'_LTZ' if type_.local else ''}({type_.precision})"
        case YearMonthIntervalType():
            return "INTERVAL MONTH"
        case DayTimeIntervalType():
            return "INTERVAL SECOND(3)"
        case ArrayType():
            return f"ARRAY<{summary(type_.element)}>"
        case MultisetType():
            return f"MULTISET<{summary(type_.element)}>"
        case MapType():
            return f"MAP<{summary(type_.key)}, {summary(type_.value)}>"
        case RowType():
            return f"ROW<{', '.join(_field(field) for field in type_.fields)}>"
        case NullType():
            return "NULL"
        case VariantType():
            return "VARIANT"
        case BitmapType():
            return "BITMAP"
        case RawType():
            return f"RAW('{type_.class_name}', ...)"


def _field(field: Field) -> str:
    text = f"`{field.name.replace('`', '``')}` {summary(field.type)}"
    return text if field.description is None else f"{text} '{field.description.replace(chr(39), chr(39) * 2)}'"


class TypeTextError(ValueError):
    """The text does not name a type."""


_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)*`)|('(?:[^']|'')*')|(\d+)|([A-Za-z_][\w$]*)|([<>(),*]))")
_SIMPLE: dict[str, LogicalType] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": TINYINT,
    "SMALLINT": SMALLINT,
    "INT": INT,
    "INTEGER": INT,
    "BIGINT": BIGINT,
    "FLOAT": FLOAT,
    "REAL": FLOAT,
    "STRING": STRING,
    "BYTES": BYTES,
    "DATE": DATE,
    "NULL": NULL,
    "VARIANT": VariantType(),
    "BITMAP": BitmapType(),
}
_YEAR_MONTH = {"YEAR", "MONTH", "QUARTER"}


def parse_type(text: str) -> LogicalType:
    """Parses the text of a type. Types are nullable unless NOT NULL follows.

    >>> print(parse_type("map<string not null, row<a int, `b` decimal(5, 2)>> not null"))
    MAP<STRING NOT NULL, ROW<`a` INT, `b` DECIMAL(5, 2)>> NOT NULL
    """
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                raise TypeTextError(f"'{text}' is not a type: unexpected '{text[position:].strip()[:20]}'")
            self._tokens.append(match.group(0).strip())
            position = match.end()
        self._at = 0

    def whole(self) -> LogicalType:
        found = self.type()
        if self._at < len(self._tokens):
            raise TypeTextError(f"'{self._text}' is not a type: unexpected '{self._tokens[self._at]}'")
        return found

    def _peek(self) -> str:
        return self._tokens[self._at].upper() if self._at < len(self._tokens) else ""

    def _take(self, *words: str) -> bool:
        if [t.upper() for t in self._tokens[self._at : self._at + len(words)]] != list(words):
            return False
        self._at += len(words)
        return True

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise TypeTextError(
                f"'{self._text}' is not a type: '{word}' was expected before '{self._peek() or 'the end'}'"
            )

    def type(self) -> LogicalType:
        found = self._plain()
        while True:  # INT ARRAY, INT MULTISET
            if self._take("ARRAY"):
                found = ArrayType(found)
            elif self._take("MULTISET"):
                found = MultisetType(found)
            else:
                break
        if self._take("NOT"):
            self._expect("NULL")
            found = found.with_nullable(False)
        else:
            self._take("NULL")
        if isinstance(found, TimestampType) and self._take("*"):
            attribute = self._peek()
            self._at += 1
            self._expect("*")
            return TimestampType(found.precision, found.local, attribute, nullable=found.nullable)  # type: ignore[arg-type]
        return found

    def _plain(self) -> LogicalType:
        word = self._peek()
        self._at += 1
        if word == "DOUBLE":
            self._take("PRECISION")
            return DOUBLE
        if word in _SIMPLE:
            return _SIMPLE[word]
        if word in ("DECIMAL", "DEC", "NUMERIC"):
            numbers = self._numbers()
            return DecimalType(*numbers) if numbers else DecimalType()
        if word in ("CHAR", "VARCHAR", "CHARACTER"):
            varying = word == "VARCHAR" or self._take("VARYING")
            return CharType((self._numbers() or [1])[0], varying=varying)
        if word in ("BINARY", "VARBINARY"):
            varying = word == "VARBINARY" or self._take("VARYING")
            return BinaryType((self._numbers() or [1])[0], varying=varying)
        if word == "TIME":
            numbers = self._numbers()
            self._take("WITHOUT", "TIME", "ZONE")
            return TimeType(numbers[0] if numbers else 0)
        if word in ("TIMESTAMP", "TIMESTAMP_LTZ"):
            numbers = self._numbers()
            self._take("WITHOUT", "TIME", "ZONE")
            local = word == "TIMESTAMP_LTZ" or self._take("WITH", "LOCAL", "TIME", "ZONE")
            return TimestampType(numbers[0] if numbers else 6, local)
        if word == "INTERVAL":
            return self._interval()
        if word in ("ARRAY", "MULTISET"):
            self._expect("<")
            element = self.type()
            self._expect(">")
            return ArrayType(element) if word == "ARRAY" else MultisetType(element)
        if word == "MAP":
            self._expect("<")
            key = self.type()
            self._expect(",")
            value = self.type()
            self._expect(">")
            return MapType(key, value)
        if word == "ROW":
            return self._row()
        raise TypeTextError(f"'{self._text}' is not a type: unknown name '{word or 'nothing'}'")

    def _numbers(self) -> list[int]:
        numbers: list[int] = []
        if self._take("("):
            while not self._take(")"):
                if not self._peek().isdigit():
                    raise TypeTextError(f"'{self._text}' is not a type: a number was expected before '{self._peek()}'")
                numbers.append(int(self._peek()))
                self._at += 1
                self._take(",")
        return numbers

    def _interval(self) -> LogicalType:
        first = self._peek()
        self._at += 1
        self._numbers()
        if self._take("TO"):
            self._at += 1
            self._numbers()
        return MONTHS if first in _YEAR_MONTH else MILLISECONDS

    def _row(self) -> LogicalType:
        closing = ">" if self._take("<") else ")"
        if closing == ")":
            self._expect("(")
        fields: list[Field] = []
        while not self._take(closing):
            name = self._tokens[self._at]
            self._at += 1
            if name.startswith("`"):
                name = name[1:-1].replace("``", "`")
            type_ = self.type()
            description = None
            if self._peek().startswith("'"):
                description = self._tokens[self._at][1:-1].replace("''", "'")
                self._at += 1
            fields.append(Field(name, type_, description))
            if not self._take(","):
                self._expect(closing)
                break
        return RowType(tuple(fields))
