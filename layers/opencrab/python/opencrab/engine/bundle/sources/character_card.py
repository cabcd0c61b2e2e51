"""Character cards of versions 1 to 3, as JSON, in a PNG's text chunks, or in a CHARX."""

import base64
import binascii
import zlib
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from opencrab.domain.errors import Invalid
from opencrab.domain.value import Language
from opencrab.engine.agents.character_card import (
    CharacterCard,
    agent_from_character_card,
    fill_card_placeholders,
)
from opencrab.engine.bundle.found import FoundAgent, SourceFiles, clean_source_text
from opencrab.engine.bundle.sources.structured import (
    source_dict,
    source_json_of_text,
    source_list,
    source_string,
)

_PNG = b"\x89PNG\r\n\x1a\n"
_OTHER_PICTURES = (b"RIFF", b"\xff\xd8\xff", b"GIF8")
_CHUNK_BYTES = 16 << 20
_KEYS = ("ccv3", "chara")
_PROMPTS = ("system_prompt", "post_history_instructions")
_GREETINGS = ("first_mes", "alternate_greetings", "group_only_greetings")
_ABOUT = ("creator_notes", "creator", "character_version", "tags")
_PYGMALION = {
    "char_name": "name",
    "char_persona": "description",
    "world_scenario": "scenario",
    "example_dialogue": "mes_example",
    "char_greeting": "first_mes",
}
_TAKEN = {
    *("name", "description", "personality", "scenario", "mes_example", "character_book"),
    *("nickname", "spec", "spec_version"),
    *_PROMPTS,
    *_GREETINGS,
    *_ABOUT,
}


def read_character_card(files: SourceFiles, language: Language) -> FoundAgent:
    """Read a card: its texts become traits, its lorebook memories, its greetings a file.

    Texts that are instructions to a model are not taken over. Raises Invalid.
    """
    name = _card_file(files.names())
    content = files.read(name)
    text = _card_in_picture(content) if _is_picture(content) else content
    document = source_dict(source_json_of_text(text, name))
    data = _with_names_of_version_2(source_dict(document.get("data")) or document)
    if "entries" in data and not data.get("name"):
        raise Invalid(
            "the file is a lorebook without a character",
            field="source",
            cure="link it to its character in the other program, and export that",
        )
    try:
        card = _character_card(data)
        drafted, cut = agent_from_character_card(card, language)
    except ValidationError:
        raise Invalid(
            "the card has a text of more than 100,000 characters",
            field="source",
            cure="shorten it in the card",
        ) from None
    found = FoundAgent("character_card", name=drafted.name, language=language)
    for label, trait in drafted.soul.custom_traits.items():
        found.add_trait(label, trait, label)
    for each in cut:
        found.keep_whole(each, source_string(data.get(each)))
    _add_lorebook(found, data, card)
    _add_greetings(found, data, card)
    _note_losses(found, data)
    if _is_picture(content):
        found.lose("picture", "not_supported")
    return found


def _card_file(names: tuple[str, ...]) -> str:
    """Return the file with the card: in an archive (CHARX) it is `card.json` at the top."""
    return "card.json" if "card.json" in names else (*names, "")[0]


def _note_losses(found: FoundAgent, data: dict[str, Any]) -> None:
    for each, value in data.items():
        if each in _PROMPTS and source_string(value).strip():
            found.lose(each, "instructions")
        elif each not in _TAKEN and value not in (None, "", [], {}):
            found.lose(each, "not_supported")


def _with_names_of_version_2(data: dict[str, Any]) -> dict[str, Any]:
    """Return a card whose texts have the usual names, not those of Pygmalion."""
    if data.get("name") or not data.get("char_name"):
        return data
    # Some programs write both names of each text, and one of them is empty.
    given = {key: value for key, value in data.items() if value or key not in _PYGMALION.values()}
    return {_PYGMALION.get(key, key): value for key, value in given.items()}


def _character_card(data: dict[str, Any]) -> CharacterCard:
    texts = ("name", "nickname", "description", "personality", "scenario", "mes_example")
    given = {key: clean_source_text(source_string(data.get(key))) for key in texts}
    return CharacterCard.model_validate(given)


def _add_lorebook(found: FoundAgent, data: dict[str, Any], card: CharacterCard) -> None:
    entries = source_dict(data.get("character_book")).get("entries")
    listed = list(entries.values()) if isinstance(entries, dict) else source_list(entries)
    for entry in map(source_dict, listed):
        # World books, which some programs embed as they are, say `key`; others one text.
        given = entry.get("keys") or entry.get("key")
        listed_keys = [given] if isinstance(given, str) else source_list(given)
        keys = ", ".join(filter(None, map(source_string, listed_keys)))
        content = fill_card_placeholders(source_string(entry.get("content")), card, found.language)
        if entry.get("enabled") is False or entry.get("disable") is True:
            found.lose("disabled entries of character_book", "not_supported")
        elif content:
            found.add_memory(f"{keys}: {content}" if keys else content, "character_book")


def _add_greetings(found: FoundAgent, data: dict[str, Any], card: CharacterCard) -> None:
    parts = list[str]()
    for key in (*_GREETINGS, *_ABOUT):
        value = data.get(key)
        if key == "tags":
            value = ", ".join(filter(None, map(source_string, source_list(value))))
        for text in source_list(value) or [value]:
            if isinstance(text, str) and text.strip():
                told = fill_card_placeholders(text, card, found.language)
                parts.append(f"## {key}\n\n{told}\n")
    if parts:
        found.add_file("imported/character_card.md", "\n".join(parts).encode(errors="replace"))


def _is_picture(content: bytes) -> bool:
    return content.startswith((_PNG, *_OTHER_PICTURES))


def _card_in_picture(content: bytes) -> bytes:
    if not content.startswith(_PNG):
        raise Invalid(
            "the picture is no PNG, and of others no card is read",
            field="source",
            cure="export the card as PNG or JSON in the other program",
        )
    texts = dict[str, bytes]()
    for kind, body in _png_chunks(content):
        if kind in {b"tEXt", b"zTXt", b"iTXt"}:
            found, _, rest = body.partition(b"\0")
            key = found.decode("latin-1").casefold()
            # Others, of which there may be thousands, are not unpacked.
            if key in _KEYS and key not in texts:
                texts[key] = _chunk_text(kind, rest)
    for wanted in _KEYS:
        if wanted in texts:
            try:
                return base64.b64decode(texts[wanted], validate=False)
            except (binascii.Error, ValueError):
                return texts[wanted]
    raise Invalid(
        "the picture has no character card",
        field="source",
        cure="choose the PNG that the other program exported: edited pictures lose their card",
    )


def _png_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_PNG)
    while place + 8 <= len(content):
        size = int.from_bytes(content[place : place + 4], "big")
        kind = content[place + 4 : place + 8]
        yield kind, content[place + 8 : place + 8 + size]
        place += size + 12
        if kind == b"IEND":
            return


def _chunk_text(kind: bytes, rest: bytes) -> bytes:
    if kind == b"tEXt":
        return rest
    packed = kind == b"zTXt" or rest[:1] == b"\x01"
    # Of iTXt: two flags, then the language and the translated key, each ending in NUL.
    international = rest[2:].partition(b"\0")[2].partition(b"\0")[2]
    rest = rest[1:] if kind == b"zTXt" else international
    if not packed:
        return rest
    try:
        return zlib.decompressobj().decompress(rest, _CHUNK_BYTES)
    except zlib.error:
        raise Invalid(
            "the card in the picture cannot be decompressed",
            field="source",
            cure="export it again, unchanged",
        ) from None
