"""Accept-Language: in which language a client wishes to be answered."""

from opencrab.domain.value import Language


def language_of_http_request(accept_language: str, default: Language = Language.EN) -> Language:
    """Return the first supported language of an Accept-Language header, else the default."""
    for choice in accept_language.split(","):
        spoken = choice.partition(";")[0].strip().lower().partition("-")[0]
        if spoken in set(Language):
            return Language(spoken)
    return default
