"""Outcome: how something that was done went."""

from enum import StrEnum


class Outcome(StrEnum):
    """Outcome of an experience."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    UNKNOWN = "unknown"
