"""A group that is repeated and may have no event is rejected."""

from __future__ import annotations

import pytest

from penstock.cep import Pattern
from penstock.errors import PlanError
from penstock.patterns.check import check_pattern


def test_a_repeated_group_of_optional_steps_is_rejected() -> None:
    group = Pattern.begin("b").optional().followed_by("c").one_or_more().optional()
    with pytest.raises(PlanError, match="PATTERN_EMPTY_GROUP"):
        check_pattern(Pattern.begin("a").followed_by(group).one_or_more())


def test_a_repeated_group_with_a_required_step_is_accepted() -> None:
    group = Pattern.begin("b").optional().followed_by("c")
    check_pattern(Pattern.begin("a").followed_by(group).one_or_more())
    check_pattern(Pattern.begin("a").followed_by(Pattern.begin("b").optional()).times(2))
