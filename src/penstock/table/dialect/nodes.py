"""Nodes of expressions and queries that sqlglot does not have, or has with a meaning that is not Flink's.

All other nodes are sqlglot's: `Select`, `Table`, `Join`, `Column`, `Literal`, `Add`, `Case` and so on. Its classes of functions
are not used: a call is a `Call` with the name as it was written.
"""

from __future__ import annotations

from sqlglot import exp


class Call(exp.Expression):
    """A call of a function. `this` is the name as written, and `path` has the catalog and the database, if they were written.

    Functions with a syntax of their own have it normalized: TRIM(BOTH 'x' FROM s) has the arguments s and 'x' and the flag BOTH.

    unit: of EXTRACT, FLOOR, CEIL, TIMESTAMPADD, TIMESTAMPDIFF and the like, in upper case.
    flag: BOTH, LEADING or TRAILING of TRIM; RUNNING or FINAL in MATCH_RECOGNIZE.
    charset: the name after USING, in TRANSLATE and CONVERT.
    quantifier: DISTINCT or ALL. order: ORDER BY in the argument list. separator: SEPARATOR in the argument list.
    nulls: IGNORE or RESPECT.
    returning, passing, on_empty, on_error, wrapper, on_null: clauses of the JSON functions.
    parentheses: False for CURRENT_DATE and the like.
    python: what `udaf` returned, if the binder has found that the name is that of an aggregate function of the user.
    """

    arg_types = {
        "this": True,
        "path": False,
        "expressions": False,
        "unit": False,
        "flag": False,
        "charset": False,
        "quantifier": False,
        "order": False,
        "separator": False,
        "nulls": False,
        "returning": False,
        "passing": False,
        "on_empty": False,
        "on_error": False,
        "wrapper": False,
        "on_null": False,
        "parentheses": False,
        "python": False,
    }


class Behavior(exp.Expression):
    """What a JSON function returns ON EMPTY or ON ERROR: `this` is NULL, ERROR, TRUE, EMPTY ARRAY or DEFAULT with an expression."""

    arg_types = {"this": True, "expression": False}


class KeyValue(exp.Expression):
    """KEY k VALUE v of JSON_OBJECT, and 'k' = 'v' of a hint."""

    arg_types = {"this": True, "expression": True}


class TypeReference(exp.Expression):
    """A data type in an expression. `this` is a `SqlType`."""

    arg_types = {"this": True}


class DateTimeLiteral(exp.Expression):
    """DATE '2024-01-31'. `this` is DATE, TIME, TIMESTAMP or TIMESTAMP WITH LOCAL TIME ZONE, and `text` the text."""

    arg_types = {"this": True, "text": True}


class IntervalLiteral(exp.Expression):
    """INTERVAL '1 12' DAY TO HOUR. `this` is the text, `qualifier` an `IntervalQualifier`; `negative` is a sign before the text."""

    arg_types = {"this": True, "qualifier": True, "negative": False}


class IntervalExpression(exp.Expression):
    """INTERVAL x DAY, where x is an expression."""

    arg_types = {"this": True, "qualifier": True}


class UnknownLiteral(exp.Expression):
    """UNKNOWN: the boolean NULL."""

    arg_types = {}


class ArrayConstructor(exp.Expression):
    """ARRAY[a, b], or ARRAY(query) with `query`."""

    arg_types = {"expressions": False, "query": False}


class MapConstructor(exp.Expression):
    """MAP[k1, v1, k2, v2], or MAP(query) with `query`."""

    arg_types = {"expressions": False, "query": False}


class MultisetConstructor(exp.Expression):
    """MULTISET[a, b], or MULTISET(query) with `query`."""

    arg_types = {"expressions": False, "query": False}


class RowConstructor(exp.Expression):
    """ROW(a, b), or (a, b) with `explicit` False."""

    arg_types = {"expressions": False, "explicit": False}


class ValueList(exp.Expression):
    """The values of WHEN 1, 2 THEN."""

    arg_types = {"expressions": True}


class Quantified(exp.Expression):
    """SOME (...), ANY (...) or ALL (...) to the right of a comparison. `this` is SOME or ALL."""

    arg_types = {"this": True, "expressions": False, "query": False}


class NamedArgument(exp.Expression):
    """name => value."""

    arg_types = {"this": True, "expression": True}


class DefaultArgument(exp.Expression):
    """DEFAULT as an argument or as a value of a row."""

    arg_types = {}


class TableArgument(exp.Expression):
    """TABLE t PARTITION BY a ORDER BY b, as an argument of a table function."""

    arg_types = {"this": True, "partition_by": False, "order": False}


class ModelArgument(exp.Expression):
    """MODEL m, as an argument of a table function."""

    arg_types = {"this": True}


class Descriptor(exp.Expression):
    """DESCRIPTOR(a, b). The expressions are identifiers."""

    arg_types = {"expressions": True}


class TableFunction(exp.Expression):
    """TABLE(f(...)), LATERAL TABLE(f(...)) or f(...) in FROM. `this` is a `Call`."""

    arg_types = {"this": True, "lateral": False, "alias": False, "sample": False}


class ExplicitTable(exp.Expression):
    """The query TABLE t."""

    arg_types = {"this": True, "order": False, "limit": False, "offset": False, "with_": False}


class JoinedTables(exp.Expression):
    """(a JOIN b ON ...) in FROM."""

    arg_types = {"this": True, "joins": True}


class HintCall(exp.Expression):
    """OPTIONS('k' = 'v') in a hint: `this` is the name in upper case; expressions are `KeyValue`, identifiers or literals."""

    arg_types = {"this": True, "expressions": False}


class MatchRecognize(exp.Expression):
    """A table with MATCH_RECOGNIZE (...)."""

    arg_types = {
        "this": True,
        "partition_by": False,
        "order": False,
        "measures": False,  # Alias nodes
        "rows": False,  # ONE ROW PER MATCH, or ALL ROWS PER MATCH with or without SHOW EMPTY MATCHES and the like
        "after": False,  # MatchSkip
        "pattern": True,
        "within": False,  # IntervalLiteral
        "subsets": False,  # PatternSubset
        "define": True,  # PatternDefinition
        "alias": False,
    }


class MatchSkip(exp.Expression):
    """AFTER MATCH SKIP: `this` is NEXT ROW, PAST LAST ROW, FIRST or LAST, the two last with a variable."""

    arg_types = {"this": True, "variable": False}


class PatternVariable(exp.Expression):
    """A variable in a pattern."""

    arg_types = {"this": True}


class PatternAnchor(exp.Expression):
    """^ or $."""

    arg_types = {"this": True}


class PatternSequence(exp.Expression):
    """A B C. Without expressions: ()."""

    arg_types = {"expressions": True}


class PatternAlternatives(exp.Expression):
    """A | B."""

    arg_types = {"expressions": True}


class PatternPermutation(exp.Expression):
    """PERMUTE(A, B)."""

    arg_types = {"expressions": True}


class PatternExclusion(exp.Expression):
    """{- A -}."""

    arg_types = {"this": True}


class PatternQuantifier(exp.Expression):
    """A*, A+?, A{2,3}. `maximum` is None without an upper bound."""

    arg_types = {"this": True, "minimum": True, "maximum": False, "reluctant": False}


class PatternSubset(exp.Expression):
    """SUBSET X = (A, B)."""

    arg_types = {"this": True, "expressions": True}


class PatternDefinition(exp.Expression):
    """DEFINE A AS condition."""

    arg_types = {"this": True, "expression": True}


class PythonCall(exp.Expression):
    """A call of a Python function that has no name in a catalog. `this` is what `udf` and the like returned.

    quantifier: DISTINCT, for aggregate functions.
    """

    arg_types = {"this": True, "expressions": False, "quantifier": False}


class BoundTable(exp.Expression):
    """A table of FROM that is bound already: `this` is its relation. The Table API makes queries over such tables."""

    arg_types = {"this": True, "alias": False}


# Nodes that only the Table API makes: SQL has no syntax for them.


class TypedLiteral(exp.Expression):
    """A constant with its type: `this` is the value as `Literal` has it, and `to` the `LogicalType`."""

    arg_types = {"this": False, "to": True}


class Plus(exp.Add):
    """a + b, which concatenates if one of them is text."""


class RowValue(RowConstructor):
    """A row whose fields are named f0, f1 and so on, and not EXPR$0."""


class FieldAt(exp.Expression):
    """The field of a row at a position, from 0."""

    arg_types = {"this": True, "index": True}


class Flatten(exp.Expression):
    """All fields of a row, each as a column."""

    arg_types = {"this": True}


class ColumnRange(exp.Expression):
    """The columns from `this` to `expression`: names, or positions from 1."""

    arg_types = {"this": True, "expression": True}


class ColumnSelection(exp.Expression):
    """The columns of the expressions, which are names, positions and ranges. `without`: all other columns."""

    arg_types = {"expressions": False, "without": False}


class WindowProperty(exp.Expression):
    """START, END, ROWTIME or PROCTIME (`kind`) of the group window whose name the expression `this` is."""

    arg_types = {"this": True, "kind": True}


class RowInterval(exp.Expression):
    """A number of rows, as the size of a window."""

    arg_types = {"this": True}


class FrameBound(exp.Expression):
    """UNBOUNDED_ROW, UNBOUNDED_RANGE, CURRENT_ROW or CURRENT_RANGE of a window of rows."""

    arg_types = {"this": True}
