"""Descriptions of event patterns. The operators that match them are in `runtime/cep`."""

from penstock.patterns.condition import (
    ConditionContext,
    IterativeCondition,
    RichIterativeCondition,
    SimpleCondition,
)
from penstock.patterns.function import (
    Match,
    PatternContext,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from penstock.patterns.pattern import GroupPattern, Pattern
from penstock.patterns.quantifier import ConsumingStrategy, Quantifier, Times, WithinType
from penstock.patterns.skip import AfterMatchSkipStrategy
from penstock.patterns.update import PatternUpdate

__all__ = [
    "AfterMatchSkipStrategy",
    "ConditionContext",
    "ConsumingStrategy",
    "GroupPattern",
    "IterativeCondition",
    "Match",
    "Pattern",
    "PatternContext",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "PatternUpdate",
    "Quantifier",
    "RichIterativeCondition",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "Times",
    "WithinType",
]
