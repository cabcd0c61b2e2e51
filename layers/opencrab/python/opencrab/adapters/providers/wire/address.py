"""Which addresses a provider may have: the key must go to the right place, and in secret."""

from opencrab.adapters.address import BaseUrlRules, is_private_url_address, is_url_of_this_machine

__all__ = ["checked_wire_base_url", "is_private_url_address", "is_url_of_this_machine"]


def checked_wire_base_url(url: str, *, provider: str) -> str:
    """Return a provider's base URL without a trailing slash; raise Invalid if unsafe."""
    field = f"llm.providers.{provider}.base_url"
    return BaseUrlRules(f"provider {provider!r}", field).validate(url)
