"""Words: what conversations, tasks and buttons say to people, in English and Japanese."""

import re

from opencrab.domain.errors import Invalid, OpenCrabError
from opencrab.domain.value import Language
from opencrab.gateways.discord.text.embeds import cut_discord_text, escape_discord_markdown
from opencrab.gateways.language.error_texts import translate_error_text
from opencrab.ports.texts import Texts

CONTENT = 2_000
"""Units that the text of a message may have."""

_HIRAGANA = re.compile("[\u3041-\u3096]")
_QUOTED = re.compile("'[^']*'")

_SENTENCES = Texts(__file__, "sentences")
_CODES = Texts(__file__, "codes")
_ERRORS = Texts(__file__, "errors")
"""By a pattern of the English message; the first that is found says it in Japanese."""


def discord_sentence(language: Language, key: str, **values: object) -> str:
    """Return the sentence of a key in a language, with its values filled in."""
    return _SENTENCES[key][language].format(**values)


def quote_discord_lines(text: str) -> str:
    """Quote a text line by line, so that nothing in it ends the quotation."""
    return "\n".join(f"> {line}" for line in text.splitlines() or [""])


def discord_problem_text(error: OpenCrabError, language: Language) -> str:
    """Return the message that a user is shown for an error, with what to do about it."""
    told, cure = error.message, error.cure
    # A name in an English message may be Japanese.
    if language is Language.JA and not _HIRAGANA.search(_QUOTED.sub("", told)):
        told, cure = _translate_error(error, language)
    return cut_discord_text(
        "\n".join(filter(None, (f"⚠️ {escape_discord_markdown(told)}", cure))), CONTENT
    )


def no_words_in_discord_option(language: Language, field: str) -> Invalid:
    """Return the error for an option without text."""
    return Invalid(
        discord_sentence(language, "no_words"),
        field=field,
        cure=discord_sentence(language, "no_words_cure"),
    )


def _translate_error(error: OpenCrabError, language: Language) -> tuple[str, str | None]:
    for pattern, sentence in _ERRORS.items():
        found = re.search(pattern, error.message)
        if found:
            return sentence[language].format(*found.groups()), None
    code = error.code if error.code in _CODES else "failed"
    told = translate_error_text(language, error.message)
    cure = translate_error_text(language, error.cure or "")
    return told or f"{_CODES[code][language]}: {error.message}", cure
