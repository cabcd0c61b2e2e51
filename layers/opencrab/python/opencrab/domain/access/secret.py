"""Secrets that may be kept: how they are called, and what fits into a header of a request."""

import re

from opencrab.domain.errors import Invalid

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
_VALUE = re.compile(r"[!-~]{1,8192}")


def require_secret(name: str, value: str) -> None:
    """Refuse a name or a value that cannot be kept; neither is quoted, one may be the other."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            "a secret's name is 1 to 100 capital letters, digits and underscores",
            field="name",
            cure="call it like OPENAI_API_KEY",
        )
    if not _VALUE.fullmatch(value):
        raise Invalid(
            f"the value of {name} is not 1 to 8192 printable ASCII characters without spaces",
            field="value",
            cure="copy the key again, without quotes, spaces and line breaks",
        )
