"""Accept-Language: in which language a client wishes to be answered."""

from opencrab.domain.value import Language

_SPOKEN = {language.value: language for language in Language}
_LONGEST = 1_000
"""Anybody may send a header, also one that takes long to read: the rest of it is ignored."""


def language_of_http_request(accept_language: str, default: Language = Language.EN) -> Language:
    """Return the supported language that Accept-Language prefers, else the default.

    Of equal ones the first counts; a language of quality 0 is one that the client does not want.
    """
    found, best = default, 0.0
    for choice in accept_language[:_LONGEST].split(","):
        name, _, parameter = choice.partition(";")
        spoken = _SPOKEN.get(name.strip().lower().partition("-")[0])
        if spoken is not None and (quality := _quality(parameter)) > best:
            found, best = spoken, quality
    return found


def _quality(parameter: str) -> float:
    """Return the number of `q=0.8`; 1 for none, 0 for none that can be read."""
    name, _, number = parameter.partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return float(number)
    except ValueError:
        return 0.0
