"""Rules: what messages must keep to, beyond what Discord's published description can say.

Lengths are counted in code points: Discord's API counts so, by the word of its staff
(discord/discord-api-docs#1315). Some rules are stricter than Discord's, since the texts that we
send are a language model's: nobody is ever mentioned by them, and a post has a nonce always.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.discord.refusals import Refusal, invalid
from tests.discord.state import EPHEMERAL, File

CONTENT, EMBEDS, EMBEDS_SUM, FILES, FILE_BYTES = 2_000, 10, 6_000, 10, 10 * 1024 * 1024
ROWS, BUTTONS, CUSTOM_ID, LABEL, NONCE = 5, 5, 100, 80, 25

EMBED_LENGTHS = {"title": 256, "description": 4_096}
FIELDS, FIELD_NAME, FIELD_VALUE, FOOTER, AUTHOR = 25, 256, 1_024, 2_048, 256

STYLES, LINK, WHITE = (1, 2, 3, 4, 5), 5, 0xFFFFFF
CHOICES = 25

MESSAGE = frozenset(
    ("content", "embeds", "components", "attachments", "allowed_mentions", "flags", "poll")
)
WEBHOOK = MESSAGE | {"tts", "username", "avatar_url", "thread_name", "applied_tags"}
POST = MESSAGE | {"tts", "nonce", "enforce_nonce", "message_reference", "sticker_ids"}

SILENT: dict[str, list[str]] = {"parse": []}


def check_message(body: Any, files: Sequence[File], *, known: frozenset[str] = MESSAGE) -> None:
    """Raise a refusal for a message that breaks a rule of Discord's or of ours."""
    if not isinstance(body, Mapping):
        raise invalid("", "BASE_TYPE_OBJECT", "a message is an object")
    for name in body:
        if name not in known:
            raise invalid(name, "OURS_UNKNOWN_KEY", "Discord ignores this silently")
    if body.get("allowed_mentions") != SILENT:
        raise invalid("allowed_mentions", "OURS_MENTIONS", 'it is {"parse": []} in every message')
    _length("content", body.get("content") or "", CONTENT)
    _check_flags(body.get("flags") or 0)
    _check_embeds(body.get("embeds") or [])
    check_components(body.get("components") or [])
    _check_files(body, files)


def check_not_empty(content: str, embeds: Sequence[Any], files: Sequence[File]) -> None:
    """Raise a refusal for a message without anything to see."""
    if not (content.strip() or embeds or files):
        raise Refusal(400, 50006, complaint="an empty message")


def check_post(body: Mapping[str, Any]) -> None:
    """Raise a refusal for a post that could appear twice."""
    nonce = body.get("nonce")
    if nonce is None or body.get("enforce_nonce") is not True:
        raise invalid("nonce", "OURS_NONCE", "every post has a nonce that is enforced")
    if isinstance(nonce, str) and not 1 <= len(nonce) <= NONCE:
        raise invalid("nonce", "BASE_TYPE_BAD_LENGTH", f"1 to {NONCE} characters")


def check_components(components: Sequence[Any]) -> None:
    """Raise a refusal for rows of buttons that Discord does not take."""
    if len(components) > ROWS:
        raise invalid("components", "BASE_TYPE_BAD_LENGTH", f"at most {ROWS} rows")
    seen: set[str] = set()
    for number, row in enumerate(components):
        where = f"components.{number}"
        if not isinstance(row, Mapping) or row.get("type") != 1:
            raise invalid(where, "OURS_ROW", "a row of buttons (type 1)")
        inner = row.get("components") or []
        if not 1 <= len(inner) <= BUTTONS:
            raise invalid(where, "BASE_TYPE_BAD_LENGTH", f"1 to {BUTTONS} buttons a row")
        for place, button in enumerate(inner):
            check_button(f"{where}.components.{place}", button, seen)


def check_button(where: str, button: Mapping[str, Any], seen: set[str]) -> None:
    """Raise a refusal for one component of a row; custom ids are unique in their message."""
    if button.get("type") == 2:
        _length(f"{where}.label", button.get("label") or "", LABEL)
        _check_link(where, button)
        if not button.get("label") and not button.get("emoji"):
            raise invalid(where, "BUTTON_COMPONENT_INVALID_EMOJI", "a label or an emoji")
    custom_id = button.get("custom_id")
    if custom_id is None:
        return
    if not 1 <= len(custom_id) <= CUSTOM_ID:
        raise invalid(f"{where}.custom_id", "BASE_TYPE_BAD_LENGTH", f"1 to {CUSTOM_ID} characters")
    if custom_id in seen:
        raise invalid(f"{where}.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", custom_id)
    seen.add(custom_id)


def check_modal(data: Mapping[str, Any]) -> None:
    """Raise a refusal for a modal; Discord's description knows most of its limits."""
    components = data.get("components") or []
    if not 1 <= len(components) <= 5:
        raise invalid("data.components", "BASE_TYPE_BAD_LENGTH", "1 to 5 components")
    seen: set[str] = set()
    _length("data.title", data.get("title") or "", 45)
    for number, label in enumerate(components):
        where = f"data.components.{number}"
        if label.get("type") != 18:
            raise invalid(where, "OURS_LABEL", "each input stands in a label (type 18)")
        inner = label.get("component") or {}
        check_button(f"{where}.component", {**inner, "label": "x"}, seen)
        if inner.get("type") == 4 and "label" in inner:
            raise invalid(where, "OURS_LABEL", "the label around an input holds its label")


def check_choices(data: Mapping[str, Any]) -> None:
    """Raise a refusal for more choices than Discord shows, or for ones that it cannot show."""
    choices = data.get("choices") or []
    if len(choices) > CHOICES:
        raise invalid("data.choices", "BASE_TYPE_BAD_LENGTH", f"at most {CHOICES}")
    for number, choice in enumerate(choices):
        for name in ("name", "value"):
            if not 1 <= len(str(choice.get(name, ""))) <= 100:
                raise invalid(
                    f"data.choices.{number}.{name}", "BASE_TYPE_BAD_LENGTH", "1 to 100 characters"
                )


def check_deferral(data: Any) -> None:
    """Raise a refusal unless a deferral says at most that it is ephemeral."""
    if data in (None, {}):
        return
    if not isinstance(data, Mapping) or set(data) != {"flags"} or data["flags"] not in (0, 64):
        raise invalid("data", "OURS_DEFERRAL", "the only flag of a deferral is EPHEMERAL")


def embed_length(embed: Mapping[str, Any]) -> int:
    """What counts for the sum of all embeds of a message."""
    return sum(len(text) for _, text, _ in _texts(embed))


def _check_flags(flags: int) -> None:
    if flags & ~(EPHEMERAL | 4 | 4096):
        raise invalid("flags", "OURS_FLAGS", "ephemeral, without embeds or silent, nothing else")


def _check_embeds(embeds: Sequence[Any]) -> None:
    if len(embeds) > EMBEDS:
        raise invalid("embeds", "BASE_TYPE_MAX_LENGTH", f"at most {EMBEDS}")
    for number, embed in enumerate(embeds):
        _check_embed(f"embeds.{number}", embed)
    if sum(embed_length(each) for each in embeds) > EMBEDS_SUM:
        raise invalid("embeds", "MAX_EMBED_SIZE_EXCEEDED", f"at most {EMBEDS_SUM} over all embeds")


def _check_embed(where: str, embed: Mapping[str, Any]) -> None:
    if not embed:
        raise invalid(where, "OURS_EMPTY_EMBED", "an embed without anything")
    if not 0 <= (embed.get("color") or 0) <= WHITE:
        raise invalid(f"{where}.color", "NUMBER_TYPE_MAX", f"at most {WHITE}")
    if len(embed.get("fields") or []) > FIELDS:
        raise invalid(f"{where}.fields", "BASE_TYPE_MAX_LENGTH", f"at most {FIELDS}")
    for name, text, most in _texts(embed):
        _length(f"{where}.{name}", text, most)
        if name.startswith("fields.") and not text.strip():
            raise invalid(f"{where}.{name}", "BASE_TYPE_REQUIRED", "a name and a value")


def _texts(embed: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    for name, most in EMBED_LENGTHS.items():
        yield name, embed.get(name) or "", most
    yield "footer.text", (embed.get("footer") or {}).get("text") or "", FOOTER
    yield "author.name", (embed.get("author") or {}).get("name") or "", AUTHOR
    for place, field in enumerate(embed.get("fields") or []):
        yield f"fields.{place}.name", field.get("name") or "", FIELD_NAME
        yield f"fields.{place}.value", field.get("value") or "", FIELD_VALUE


def _check_files(body: Mapping[str, Any], files: Sequence[File]) -> None:
    if len(files) > FILES:
        raise invalid("files", "BASE_TYPE_MAX_LENGTH", f"at most {FILES}")
    if sum(len(file.content) for file in files) > FILE_BYTES:
        raise Refusal(413, 40005, complaint="files of over 10 MiB")
    named = {str(each.get("id")) for each in body.get("attachments") or []}
    missing = [file.name for file in files if "attachments" in body and file.id not in named]
    if missing:
        raise invalid("attachments", "OURS_ATTACHMENTS", f"{missing} are sent but not named")


def _check_link(where: str, button: Mapping[str, Any]) -> None:
    style = button.get("style")
    if style not in STYLES:
        raise invalid(f"{where}.style", "BASE_TYPE_CHOICES", f"one of {STYLES}")
    has_id, has_url = bool(button.get("custom_id")), bool(button.get("url"))
    is_link = style == LINK
    if has_url != is_link or has_id == is_link:
        raise invalid(where, "OURS_BUTTON", "a custom id, or in style 5 an address")


def _length(where: str, text: str, most: int) -> None:
    if len(text) > most:
        raise invalid(where, "BASE_TYPE_MAX_LENGTH", f"{len(text)} is more than {most} characters")
    if any("\ud800" <= each <= "\udfff" for each in text):
        raise invalid(where, "OURS_SURROGATE", "half a character")
