"""Secrets that may be kept: how they are called, and what fits into a header of a request."""

import re

from opencrab.domain.errors import Invalid

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
_VALUE = re.compile(r"[!-~]{1,8192}")


def require_storable_secret(name: str, value: str) -> None:
    """Raise Invalid if a secret's name or value cannot be stored.

    The messages quote neither: users confuse the two fields, so that a name may be a secret.
    """
    if not _NAME.fullmatch(name):
        raise Invalid(
            "the secret's name is not 1 to 100 capital letters, digits and underscores",
            field="name",
            cure="use a name like OPENAI_API_KEY",
        )
    if not _VALUE.fullmatch(value):
        raise Invalid(
            f"the value of {name} is not 1 to 8192 printable ASCII characters without spaces",
            field="value",
            cure="copy the key again, without quotes, spaces and line breaks",
        )
