"""Character cards: the JSON in which other chat programs share a character, as a new agent.

Of versions 1 to 3 of the format, the texts about the character become traits of the soul. Texts
that are instructions to a model are not taken: a card is usually somebody else's.
"""

import re
from typing import Annotated

from pydantic import ConfigDict, Field

from opencrab.domain.errors import Invalid
from opencrab.domain.text.hidden import hidden_text_in_name
from opencrab.domain.value import Language, Value
from opencrab.engine.agents.creation import NewAgent, SoulDraft
from opencrab.ports.texts import Texts

_TAKEN = ("description", "personality", "scenario", "mes_example")
_NAME, _TRAIT = 64, 4_000
_PLACEHOLDER = re.compile(r"\{\{(char|user)\}\}|<(bot|user)>", re.IGNORECASE)
_TEXTS = Texts(__file__)

CardText = Annotated[str, Field(max_length=100_000)]


class CharacterTexts(Value):
    """The texts of a card that are taken; everything else is left out."""

    model_config = ConfigDict(extra="ignore")

    name: CardText = ""
    nickname: CardText | None = None
    description: CardText = ""
    personality: CardText = ""
    scenario: CardText = ""
    mes_example: CardText = ""


class CharacterCard(CharacterTexts, defer_build=False):
    """A card: version 1 has its texts at the top, versions 2 and 3 have them in `data`."""

    data: CharacterTexts | None = None


def agent_from_character_card(
    card: CharacterCard, language: Language
) -> tuple[NewAgent, tuple[str, ...]]:
    """Return the settings of a new agent, and the names of the texts that were cut.

    Raises Invalid for a card without a name.
    """
    texts: CharacterTexts = card.data or card
    name = _shown_name(texts.name)
    if not name:
        raise Invalid(
            "the card has no name", field="name", cure="choose a character card in JSON or PNG"
        )
    said = {part: fill_card_placeholders(getattr(texts, part), texts, language) for part in _TAKEN}
    traits = {_TEXTS[part][language]: text[:_TRAIT] for part, text in said.items() if text}
    agent = NewAgent(name=name, language=language, soul=SoulDraft(custom_traits=traits))
    return agent, tuple(part for part, text in said.items() if len(text) > _TRAIT)


def character_card_labels() -> dict[str, str]:
    """Return the fields of a card by the labels of their traits, in all languages."""
    return {_TEXTS[part][language]: part for part in _TAKEN for language in Language}


def fill_card_placeholders(text: str, texts: CharacterTexts, language: Language) -> str:
    """Replace the places in a card's text where the names of the character and the person belong.

    The character is called by its nickname if it has one, as version 3 says.
    """
    name = _shown_name(texts.nickname or "") or _shown_name(texts.name)
    names = {"char": name, "bot": name, "user": _TEXTS["user"][language]}
    kept = text.replace("\r\n", "\n").replace("\x00", "")
    shown = (c for c in kept if c == "\n" or not hidden_text_in_name(c))
    found = "".join(shown).strip()
    return _PLACEHOLDER.sub(lambda at: names[(at[1] or at[2]).lower()], found)


def _shown_name(name: str) -> str:
    shown = (c for c in " ".join(name.split()) if not hidden_text_in_name(c))
    return "".join(shown)[:_NAME].strip()
