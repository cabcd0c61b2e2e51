"""Outcome: how something that was done went."""

from enum import StrEnum


class Outcome(StrEnum):
    """How something went."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    UNKNOWN = "unknown"
