"""Addresses from the variables of vendors' own libraries, such as OPENAI_BASE_URL."""

import re
from collections.abc import Mapping

_OPENAI = ("llm.providers.openai.base_url", "https://api.openai.com/v1")
_OLLAMA_PORT = re.compile(r":[0-9]+$")

VENDOR_ADDRESSES: Mapping[str, tuple[str, str]] = {
    "OPENAI_BASE_URL": _OPENAI,
    "OPENAI_API_BASE": _OPENAI,
    "ANTHROPIC_BASE_URL": ("llm.providers.anthropic.base_url", ""),
    "OLLAMA_HOST": ("llm.providers.ollama.base_url", "http://localhost:11434"),
}
"""The variables, the setting of each, and its default; the first that is set is used."""


def vendor_address(variable: str, text: str) -> str:
    """Return the address that a variable gives; OLLAMA_HOST may lack scheme, host and port."""
    text = text.strip()
    if variable != "OLLAMA_HOST" or not text:
        return text
    scheme, _, place = text.rpartition("://")
    place = place.rstrip("/")
    for anywhere in ("0.0.0.0", "[::]"):  # noqa: S104 - there a server listens, nobody calls it there
        place = place.replace(anywhere, "localhost", 1) if place.startswith(anywhere) else place
    place = f"localhost{place}" if place.startswith(":") else place
    has_port = bool(scheme) or "/" in place or _OLLAMA_PORT.search(place) is not None
    return f"{scheme or 'http'}://{place}{'' if has_port else ':11434'}"
