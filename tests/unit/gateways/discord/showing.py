"""Commands that show something, given by different people in different places, and judged."""

import json
from typing import Any

from opencrab.domain.discord.community import InteractionReply, Person
from opencrab.domain.value import Language
from opencrab.gateways.discord.agent_lookup import AgentQuery
from opencrab.gateways.discord.views.view_commands import ANSWERS
from opencrab.ports.discord import Payload
from tests.discord.recording import APPLICATION, CHANNEL, GUILD, TARO, snowflake
from tests.discord.rules import check_message
from tests.discord.spec import judge
from tests.unit.gateways.discord.stage import GUEST, USER_ROLE, Stage

EDIT = "/webhooks/{webhook_id}/{webhook_token}/messages/@original"
HOSTILE = "**@everyone** `x` <@1> [a](https://e.example) ||s||"

OWNER = Person(id=TARO, name="太郎")
USER = Person(id="167348773423415296", name="花子", role_ids=(USER_ROLE,))
STRANGER = Person(id=GUEST, name="Guest")


def asked(
    stage: Stage,
    name: str,
    person: Person = OWNER,
    /,
    *,
    language: Language = Language.EN,
    channel: str = CHANNEL,
    guild: str | None = GUILD,
    **options: Any,
) -> AgentQuery:
    """A command as the worker hands it on."""
    reply = InteractionReply(
        id=snowflake(stage.house.clock.now()),
        application_id=APPLICATION,
        token="token",
        channel_id=channel,
        guild_id=guild,
        language=language,
        is_ephemeral=True,
    )
    return AgentQuery(stage.runtime, name, options, person, reply)


def answer(stage: Stage, name: str, person: Person = OWNER, /, **more: Any) -> Payload:
    """The answer to a command, which Discord takes."""
    payload = ANSWERS[name](asked(stage, name, person, **more))
    accepted(payload)
    return payload


def accepted(payload: Payload) -> None:
    """Raise unless Discord would take this in place of its first answer."""
    sent = {**payload, "allowed_mentions": {"parse": []}}
    check_message(sent, ())
    judge(EDIT, "patch", sent)


def told(payload: Payload) -> str:
    """Everything that an answer says, in one text."""
    return json.dumps(payload["embeds"], ensure_ascii=False)


def fields(payload: Payload) -> dict[str, str]:
    """The fields of the first embed, by their names."""
    return {each["name"]: each["value"] for each in payload["embeds"][0].get("fields", ())}
