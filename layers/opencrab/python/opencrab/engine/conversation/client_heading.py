"""Headings in messages of clients that keep the conversation, and the words below the last one."""

from opencrab.domain.value import Language
from opencrab.ports.texts import Texts

_PHRASES = Texts(__file__)
_FIRST = ("instructions", "earlier")


def client_heading(name: str, language: Language) -> str:
    """Return a heading: `instructions`, `earlier`, `left_out`, `now`, `user` or `assistant`."""
    return _PHRASES[name][language]


def newest_words_of_client(text: str) -> str:
    """Return what a client's user said, without what its message repeats before that."""
    if not text.startswith("["):
        return text
    for language in Language:
        if text.startswith(tuple(client_heading(name, language) for name in _FIRST)):
            return text.rpartition(f"\n\n{client_heading('now', language)}\n\n")[2]
    return text
