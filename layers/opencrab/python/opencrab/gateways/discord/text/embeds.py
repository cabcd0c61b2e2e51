"""Embeds: messages inside Discord's limits, in which what people wrote is shown as they wrote it.

Lengths are counted in UTF-16 units, as browsers do: no other way of counting finds a text longer.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any

from opencrab.domain.approvals.call_text import backtick_mark_for_approval

TITLE, DESCRIPTION, FOOTER = 256, 4_096, 2_048
FIELDS, FIELD_NAME, FIELD_VALUE = 25, 256, 1_024
EMBEDS, EMBEDS_TOGETHER = 10, 6_000
ROWS, BUTTONS, LABEL = 5, 5, 80

NOTHING = "—"
"""Stands where there is nothing: Discord refuses empty fields."""

Embed = dict[str, Any]
Field = tuple[str, str]

_ELLIPSIS = "…"
_LINK = 5
_MARKED = re.compile(
    r"([\\`*_~|<>#\[\]@]|(?<=[a-zA-Z]):(?=//)|^[-+](?=\s)|(?<=\d)\.(?=\s))", re.MULTILINE
)
_UNSEEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_OPEN_TAG = re.compile(r"(?<!\\)<[^>\s]*$")
_JOINER, _KEYCAP = "\u200d", "\u20e3"
_VARIATIONS = range(0xFE00, 0xFE10)
_SKINS = range(0x1F3FB, 0x1F400)
_FLAGS = range(0x1F1E6, 0x1F200)


class Colour(IntEnum):
    """The colour of the stripe beside an embed."""

    CALM = 0x5865F2
    GOOD = 0x57F287
    WAITING = 0xFEE75C
    BAD = 0xED4245
    QUIET = 0x99AAB5


class Style(IntEnum):
    """Discord's styles of buttons that send a custom id."""

    PLAIN = 2
    YES = 3
    NO = 4


def escape_discord_markdown(text: str) -> str:
    """Escape a text for Discord: no format, mention, hidden link or reversed text direction.

    Use it only for text outside of code blocks.
    """
    escaped = _MARKED.sub(r"\\\1", _UNSEEN.sub("", text))
    return escaped.replace("\\@", "@\u200b")


def one_discord_line(text: str, most: int) -> str:
    """Escape a text, join it into one line and cut it to so many UTF-16 units."""
    return cut_discord_text(escape_discord_markdown(" ".join(text.split())), most)


def cut_discord_text(text: str, most: int) -> str:
    """Cut a text to at most so many UTF-16 units, with an ellipsis if cut.

    An emoji, an escape or a timestamp that would be cut in half is removed.
    """
    if discord_text_length(text) <= most:
        return text
    if most < 1:
        return ""
    units, end = 0, 0
    for end, character in enumerate(text):  # noqa: B007 - the end is used after the loop
        units += discord_text_length(character)
        if units > most - 1:
            break
    while end > 0 and _clings(text, end):
        end -= 1
    kept = _OPEN_TAG.sub("", text[:end]).rstrip()
    kept = kept[:-1] if (len(kept) - len(kept.rstrip("\\"))) % 2 else kept
    return kept + _ELLIPSIS


def discord_embed_lines_that_fit(rows: Iterable[str], most: int = FIELD_VALUE) -> str:
    """Join as many whole rows as fit, with the number of those left out.

    If not even the first row fits, it is cut.
    """
    listed = list(rows)
    kept, room = list[str](), most - discord_text_length(f"\n… +{len(listed)}")
    for row in listed:
        if discord_text_length(row) + 1 > room:
            break
        kept.append(row)
        room -= discord_text_length(row) + 1
    if len(kept) == len(listed):
        return "\n".join(kept)
    if not kept:
        kept = [cut_discord_text(listed[0], most - discord_text_length(f"\n… +{len(listed)}"))]
    left = len(listed) - len(kept)
    return "\n".join([*kept, f"… +{left}"]) if left else kept[0]


def make_embed(
    title: str,
    description: str = "",
    *,
    colour: Colour = Colour.CALM,
    fields: Iterable[Field] = (),
    footer: str = "",
) -> Embed:
    """Return an embed with each part cut to its limit; the title and texts are not escaped."""
    made: Embed = {
        "title": cut_discord_text(title, TITLE).strip() or NOTHING,
        "color": int(colour),
    }
    if description.strip():
        made["description"] = cut_discord_text(description, DESCRIPTION)
    shown = [_field(name, value) for name, value in fields]
    if shown:
        made["fields"] = shown[:FIELDS]
    if footer.strip():
        made["footer"] = {"text": cut_discord_text(footer, FOOTER)}
    return made


def discord_embeds_message(
    *embeds: Embed, rows: Sequence[Sequence[dict[str, Any]]] = ()
) -> dict[str, Any]:
    """Return a message of embeds and rows of buttons, within Discord's limit for all embeds.

    What does not fit is left out from the end, whole fields first, but never a title.
    """
    listed = list(embeds[:EMBEDS])
    room = EMBEDS_TOGETHER - sum(discord_text_length(each["title"]) for each in listed)
    fitted = list[Embed]()
    for each in listed:
        fitting, taken = _fitting(each, room)
        room -= taken
        fitted.append(fitting)
    components = [{"type": 1, "components": list(row[:BUTTONS])} for row in rows[:ROWS] if row]
    return {"content": "", "embeds": fitted, "components": components}


def make_button(label: str, custom_id: str, style: Style = Style.PLAIN) -> dict[str, Any]:
    """Return a button; pressing it sends its custom id."""
    return {
        "type": 2,
        "style": int(style),
        "label": cut_discord_text(label, LABEL),
        "custom_id": custom_id,
    }


def make_link_button(label: str, url: str) -> dict[str, Any]:
    """Return a button that opens an address."""
    return {"type": 2, "style": _LINK, "label": cut_discord_text(label, LABEL), "url": url}


def discord_code_block(text: str, language: str) -> str:
    """Return a text in a code block that none of its back ticks can end."""
    return f"```{language}\n{text.replace('```', backtick_mark_for_approval(3))}\n```"


def discord_timestamp(at: datetime) -> str:
    """Return a timestamp that Discord shows as relative time, such as "2 hours ago"."""
    return f"<t:{int(at.timestamp())}:R>"


def discord_text_length(text: str) -> int:
    """Return the length in UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


def _field(name: str, value: str) -> dict[str, Any]:
    return {
        "name": cut_discord_text(name, FIELD_NAME).strip() or NOTHING,
        "value": cut_discord_text(value, FIELD_VALUE).strip() or NOTHING,
        "inline": discord_text_length(value) <= TITLE // 8 and "\n" not in value,
    }


def _fitting(made: Embed, room: int) -> tuple[Embed, int]:
    """Return an embed cut to the room beside its title, and the units that it uses."""
    fitting, taken = dict(made), 0
    if "description" in made:
        told = cut_discord_text(made["description"], max(room, 0))
        fitting["description"], taken = told, discord_text_length(told)
        if not told.strip():
            del fitting["description"]
    kept = list[dict[str, Any]]()
    for field in made.get("fields", ()):
        units = discord_text_length(field["name"]) + discord_text_length(field["value"])
        if taken + units > room:
            break
        kept.append(field)
        taken += units
    fitting.pop("fields", None)
    if kept:
        fitting["fields"] = kept
    units = discord_text_length(made["footer"]["text"]) if "footer" in made else 0
    if taken + units > room:
        fitting.pop("footer", None)
        units = 0
    return fitting, taken + units


def _clings(text: str, end: int) -> bool:
    """Check whether the character at `end` combines with the one before it."""
    character, before = text[end], text[end - 1]
    joined = character in {_JOINER, _KEYCAP} or before == _JOINER
    dressed = ord(character) in _VARIATIONS or ord(character) in _SKINS
    if ord(character) in _FLAGS:
        flags = 0
        while flags < end and ord(text[end - 1 - flags]) in _FLAGS:
            flags += 1
        return flags % 2 == 1
    return joined or dressed or unicodedata.combining(character) > 0
