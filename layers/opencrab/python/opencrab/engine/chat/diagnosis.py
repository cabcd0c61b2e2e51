"""The setup check of a chat service: reads every setting that matters, and says what to click.

It changes nothing. The service is asked who we are, and calls our webhook as it does with events.
"""

from collections.abc import Iterator
from dataclasses import replace

from opencrab.domain.errors import OpenCrabError, Refused, Unavailable
from opencrab.domain.value import Language
from opencrab.engine.chat.messages import agent_of_chat
from opencrab.engine.discord.diagnosis import Check, DiagnosisResult
from opencrab.engine.runtime import Runtime
from opencrab.ports.conversation.chat_link import Chat, ChatCheck
from opencrab.ports.texts import Texts

_WHAT = Texts(__file__, "what")
_CURES = Texts(__file__, "cure")


def chat_setup_checks(runtime: Runtime, kind: str, language: Language) -> tuple[Check, ...]:
    """Return all checks of a service's setup, in the order in which to fix them."""
    chat = runtime.chats.get(kind)
    if chat is None:
        return (_check(kind, ChatCheck(name=kind, state="problem", key="off"), language),)
    return tuple(_check(kind, each, language) for each in _checks(runtime, chat))


def _checks(runtime: Runtime, chat: Chat) -> Iterator[ChatCheck]:
    yield _of_secret(chat)
    try:
        yield from chat.link.checks()
    except OpenCrabError as error:
        yield ChatCheck(
            name="token", state="problem", key="token_wrong", facts={"why": error.message}
        )
    yield _of_agent(runtime, chat)
    for each in chat.agents:
        people = chat.people.replaced(agent=each)
        yield _of_agent(runtime, replace(chat, people=people))
    has_owner = bool(chat.people.owner_ids)
    state, key = ("ok", "owners") if has_owner else ("warning", "owners_none")
    yield ChatCheck(name="owners", state=state, key=key)


def _of_secret(chat: Chat) -> ChatCheck:
    """Check that the secret is there, without showing it."""
    facts = {"secret": chat.signing_secret_name}
    try:
        chat.signing_secret()
    except Unavailable as error:
        facts["why"] = error.message
        return ChatCheck(name="secret", state="problem", key="secret_unread", facts=facts)
    except Refused:
        state = "warning" if chat.is_polled else "problem"
        return ChatCheck(name="secret", state=state, key="secret_none", facts=facts)
    return ChatCheck(name="secret", state="ok", key="secret", facts=facts)


def _of_agent(runtime: Runtime, chat: Chat) -> ChatCheck:
    profile = agent_of_chat(runtime, chat)
    if profile is not None:
        facts = {"name": profile.agent.name}
        return ChatCheck(name="agent", state="ok", key="agent", facts=facts)
    wanted = chat.people.agent
    key = "agent_unknown" if wanted else "agent_none"
    return ChatCheck(name="agent", state="problem", key=key, facts={"wanted": wanted})


def _check(kind: str, found: ChatCheck, language: Language) -> Check:
    """Return a check with its words: those of the service, if it has its own."""
    facts = {**found.facts, "setting": f"gateway.{kind}", "door": f"/channels/{kind}"}
    key = own if (own := f"{kind}_{found.key}") in _WHAT else found.key
    cure = _CURES[key][language].format(**facts) if key in _CURES else ""
    what = _WHAT[key][language].format(**facts)
    return Check(name=found.name, state=DiagnosisResult(found.state), what=what, cure=cure)
