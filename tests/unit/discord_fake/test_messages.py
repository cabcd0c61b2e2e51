"""The rules for messages: each refuses what breaks it, and takes what just keeps it."""

from typing import Any

import pytest

from tests.discord.calling import SILENT, Caller
from tests.discord.fake import SERVER_CHANNEL, FakeDiscord
from tests.discord.refusals import Refusal
from tests.discord.request import parse
from tests.discord.rules import check_message
from tests.discord.state import File


def button(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A button that Discord takes, unless the changes spoil it."""
    return {"type": 2, "style": 1, "label": "x", "custom_id": f"oc:{number}", **changes}


def row(*buttons: dict[str, Any]) -> dict[str, Any]:
    """A row of buttons."""
    return {"type": 1, "components": list(buttons)}


def field(**changes: Any) -> dict[str, Any]:
    """A field of an embed."""
    return {"name": "n", "value": "v", **changes}


TAKEN: dict[str, dict[str, Any]] = {
    "the longest text": {"content": "あ" * 2_000},
    "emoji outside the first plane, one character each": {"content": "🦀" * 2_000},
    "ten embeds": {"embeds": [{"title": "x"}] * 10},
    "an embed at its limits": {
        "embeds": [
            {"title": "t" * 256, "description": "d" * 4_096, "footer": {"text": "f" * 1_648}}
        ]
    },
    "the most fields": {"embeds": [{"fields": [field()] * 25}]},
    "five rows of five": {
        "content": "x",
        "components": [row(*(button(5 * i + j) for j in range(5))) for i in range(5)],
    },
    "the longest custom id": {"content": "x", "components": [row(button(custom_id="x" * 100))]},
    "a link": {
        "content": "x",
        "components": [row({"type": 2, "style": 5, "label": "x", "url": "https://example.org/"})],
    },
    "only visible to one": {"content": "x", "flags": 64},
}

REFUSED: dict[str, dict[str, Any]] = {
    "2,001 characters": {"content": "あ" * 2_001},
    "2,001 emoji": {"content": "🦀" * 2_001},
    "half an emoji": {"content": "x\ud83e"},
    "eleven embeds": {"embeds": [{"title": "x"}] * 11},
    "a long title": {"embeds": [{"title": "t" * 257}]},
    "a long description": {"embeds": [{"description": "d" * 4_097}]},
    "26 fields": {"embeds": [{"fields": [field()] * 26}]},
    "a long field's name": {"embeds": [{"fields": [field(name="n" * 257)]}]},
    "a long field's value": {"embeds": [{"fields": [field(value="v" * 1_025)]}]},
    "a field without words": {"embeds": [{"fields": [field(value=" ")]}]},
    "a long footer": {"embeds": [{"footer": {"text": "f" * 2_049}}]},
    "a long author": {"embeds": [{"author": {"name": "a" * 257}}]},
    "embeds of 6,001 together": {
        "embeds": [{"description": "d" * 3_000}, {"description": "d" * 3_001}]
    },
    "a colour beyond white": {"embeds": [{"title": "x", "color": 0x1000000}]},
    "an empty embed": {"embeds": [{}]},
    "six buttons": {"content": "x", "components": [row(*(button(i) for i in range(6)))]},
    "six rows": {"content": "x", "components": [row(button(i)) for i in range(6)]},
    "a button beside a row": {"content": "x", "components": [button()]},
    "an empty row": {"content": "x", "components": [row()]},
    "a long custom id": {"content": "x", "components": [row(button(custom_id="x" * 101))]},
    "a custom id twice": {"content": "x", "components": [row(button(1), button(1))]},
    "a long label": {"content": "x", "components": [row(button(label="x" * 81))]},
    "no label": {"content": "x", "components": [row(button(label=""))]},
    "no custom id": {"content": "x", "components": [row(button(custom_id=None))]},
    "an id and an address": {
        "content": "x",
        "components": [row(button(url="https://example.org/"))],
    },
    "a link without one": {"content": "x", "components": [row({**button(), "style": 5})]},
    "an unknown style": {"content": "x", "components": [row(button(style=9))]},
    "no words at all": {"content": " \n"},
    "an unknown key": {"content": "x", "contents": "y"},
    "somebody is mentioned": {"content": "x", "allowed_mentions": {"parse": ["users"]}},
    "mentions are left to Discord": {"content": "x", "allowed_mentions": None},
    "new components": {"content": "x", "flags": 32_768},
    "a nonce too long": {"content": "x", "nonce": "n" * 26},
    "no nonce": {"content": "x", "nonce": None},
    "a nonce that is not enforced": {"content": "x", "enforce_nonce": False},
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_message_that_keeps_the_rules_is_taken(
    discord: FakeDiscord, call: Caller, name: str
) -> None:
    heard = call.post(SERVER_CHANNEL.channel_id, "n1", **TAKEN[name])
    assert heard.status == 200, heard.json
    assert not discord.complaints
    assert len(discord.shown(SERVER_CHANNEL)) == 1


@pytest.mark.parametrize("name", REFUSED)
def test_a_message_that_breaks_a_rule_is_refused(
    discord: FakeDiscord, call: Caller, name: str
) -> None:
    heard = call.post(SERVER_CHANNEL.channel_id, **{"nonce": "n1", **REFUSED[name]})
    assert (heard.status, heard.code) in {(400, 50035), (400, 50006)}
    assert len(discord.complaints) == 1
    assert not discord.shown(SERVER_CHANNEL)


MULTIPART = {
    "user-agent": "DiscordBot (https://example.org, 1)",
    "content-type": "multipart/form-data; boundary=b",
}


def form(*parts: tuple[str, bytes]) -> bytes:
    """A body of parts: the rest of each disposition, and its content."""
    told = b""
    for disposition, content in parts:
        head = f"--b\r\nContent-Disposition: form-data; {disposition}\r\n\r\n".encode()
        told += head + content + b"\r\n"
    return told + b"--b--\r\n"


def test_a_file_travels_beside_its_message(discord: FakeDiscord, call: Caller) -> None:
    body = form(
        (
            'name="payload_json"',
            b'{"allowed_mentions":{"parse":[]},"nonce":"1","enforce_nonce":true,'
            b'"attachments":[{"id":"0","filename":"a.md"}]}',
        ),
        ('name="files[0]"; filename="a.md"', "# 蟹\n".encode()),
    )
    headers = {**MULTIPART, "authorization": f"Bot {discord.token}"}
    heard = call.raw("POST", f"/channels/{SERVER_CHANNEL.channel_id}/messages", body, headers)
    assert heard.status == 200, heard.json
    (message,) = discord.shown(SERVER_CHANNEL)
    assert [(file.name, file.content) for file in message.files] == [("a.md", "# 蟹\n".encode())]
    assert heard.json["attachments"][0]["size"] == 6
    assert not discord.complaints


@pytest.mark.parametrize(
    "parts",
    [
        (('name="files[0]"; filename="a.md"', b"x"),),
        (('name="payload_json"', b"{}"), ('name="file"; filename="a.md"', b"x")),
        (('name="payload_json"', b"{}"), ('name="files[0]"', b"x")),
        (('name="payload_json"', b"{"),),
    ],
)
def test_a_form_without_its_message_or_its_names_is_refused(
    parts: tuple[tuple[str, bytes], ...],
) -> None:
    with pytest.raises(Refusal):
        parse("POST", "/api/v10/channels/1/messages", MULTIPART, form(*parts))


def test_a_file_that_the_message_does_not_name_is_refused() -> None:
    body = {**SILENT, "attachments": [{"id": "1"}]}
    with pytest.raises(Refusal):
        check_message(body, [File("0", "a.md", b"x", "text/plain")])


def test_files_of_over_ten_mebibytes_are_refused() -> None:
    with pytest.raises(Refusal) as refused:
        check_message({**SILENT}, [File("0", "a.md", b"x" * (10 * 2**20 + 1), "text/plain")])
    assert refused.value.code == 40005
