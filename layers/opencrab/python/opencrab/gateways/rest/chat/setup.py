"""Chat services: whether they are set up."""

from typing import Annotated, Literal

from fastapi import Header

from opencrab.domain.value import Value
from opencrab.engine.chat.diagnosis import chat_setup_checks
from opencrab.engine.discord.diagnosis import Check
from opencrab.gateways.rest.http.accept_language import language_of_http_request
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import http_routes_below
from opencrab.gateways.rest.http.dependencies import Api

router = http_routes_below("/api", "chats")


class ChatChecksView(Value):
    """The checks of a service's setup, in the order in which problems should be fixed."""

    checks: tuple[Check, ...]


@router.get("/chats/{kind}")
def get_chat_setup(
    api: Api,
    _caller: Owner,
    kind: Literal["line", "slack"],
    accept_language: Annotated[str | None, Header(description="the language of the advice")] = None,
) -> ChatChecksView:
    """Check the setup of a chat service.

    Covers secrets, webhook, quota and the agent that answers. The service is asked to call the
    webhook. Each failed check says what to do.
    """
    language = language_of_http_request(accept_language or "")
    return ChatChecksView(checks=chat_setup_checks(api.runtime, kind, language))
