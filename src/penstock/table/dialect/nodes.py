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
        "rows": False,  # ONE ROW PER MATCH or ALL ROWS PER MATCH
        "after": False,  # MatchSkip
        "pattern": True,
        "strict_start": False,
        "strict_end": False,
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


class PatternSequence(exp.Expression):
    """A B C."""

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
