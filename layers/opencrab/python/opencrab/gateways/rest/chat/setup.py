"""Chat services: whether they are set up."""

from typing import Annotated, Literal, cast

from fastapi import Header, Response
from pydantic import StringConstraints

from opencrab.domain.chat.people import TELEGRAM
from opencrab.domain.errors import Conflict
from opencrab.domain.value import Value
from opencrab.engine.chat.diagnosis import chat_setup_checks
from opencrab.engine.discord.diagnosis import Check
from opencrab.gateways.language.accept_language import language_of_http_request
from opencrab.gateways.rest.http.access import Owner
from opencrab.gateways.rest.http.body import Strict, http_routes_below
from opencrab.gateways.rest.http.dependencies import Api
from opencrab.gateways.rest.http.idempotency import Repeatable
from opencrab.ports.conversation.chat_link import BotLink

router = http_routes_below("/api", "chats")


class ChatChecksView(Value):
    """The checks of a service's setup, in the order in which problems should be fixed."""

    checks: tuple[Check, ...]


@router.get("/chats/{kind}")
def get_chat_setup(
    api: Api,
    _caller: Owner,
    kind: Literal["email", "line", "slack", "telegram"],
    accept_language: Annotated[str | None, Header(description="the language of the advice")] = None,
) -> ChatChecksView:
    """Check the setup of a chat service.

    Covers secrets, webhook, quota and the agent that answers. The service is asked to call the
    webhook. Each failed check says what to do.
    """
    language = language_of_http_request(accept_language or "")
    return ChatChecksView(checks=chat_setup_checks(api.runtime, kind, language))


class TelegramWebhook(Value, defer_build=False):
    """The address of this server as Telegram reaches it; empty ends posting, for polling."""

    url: Annotated[str, StringConstraints(pattern=r"^(|https://[!-~]{1,500})$")] = ""


class TelegramWebhookView(Value):
    """The address to which Telegram posts messages from now on, empty for none."""

    url: str


@router.post(
    "/chats/telegram/webhook",
    response_model=TelegramWebhookView,
    operation_id="set_telegram_webhook",
)
def set_webhook_of_telegram(
    api: Api, _caller: Owner, once: Repeatable, body: Strict[TelegramWebhook]
) -> Response:
    """Have Telegram post messages to this server, with the webhook secret, or nowhere."""

    def done() -> TelegramWebhookView:
        chat = api.runtime.chats.get(TELEGRAM)
        if chat is None:
            raise Conflict("Telegram is disabled", cure="set gateway.telegram.enabled to true")
        base = body.url.rstrip("/").removesuffix("/channels/telegram")
        url = f"{base}/channels/telegram" if base else ""
        secret = chat.signing_secret() if url else ""
        cast("BotLink", chat.link).set_webhook(url, secret)
        return TelegramWebhookView(url=url)

    return once.answer(body, done)
