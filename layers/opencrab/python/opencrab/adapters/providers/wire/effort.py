"""Reasoning effort for models that take a number of thinking tokens instead of a level."""

LEAST_BUDGET = 1_024
"""The least thinking tokens that Anthropic and Google accept of all such models."""

_QUARTERS = {"low": 1, "medium": 2, "high": 3}


def wire_thinking_budget(effort: str, most: int) -> int | None:
    """Return the thinking tokens of an effort: a quarter, half or three of `most` output tokens.

    At least 1,024, which vendors demand; None if no room for an answer would be left.
    """
    budget = max(most * _QUARTERS.get(effort, 2) // 4, LEAST_BUDGET)
    return budget if budget < most else None
