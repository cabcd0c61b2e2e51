"""Talks to the fake of Telegram with a library for bots; runs in its environment.

Reads one JSON from its input and writes one: what the library read of updates and of answers.
"""

import asyncio
import json
import sys
from typing import Any

from telegram import Bot, InlineKeyboardMarkup, ReplyParameters, Update
from telegram.error import BadRequest, Conflict, InvalidToken, RetryAfter

asked = json.load(sys.stdin)


def read(update: dict[str, Any], bot: Bot) -> dict[str, Any]:
    """What the library finds in an update that the fake posts."""
    found = Update.de_json(update, bot)
    query, message = found.callback_query, found.effective_message
    return {
        "id": found.update_id,
        "user": found.effective_user.id,
        "chat": found.effective_chat.id,
        "kind": found.effective_chat.type,
        "text": None if query else message.text,
        "data": query.data if query else None,
        "unknown": sorted([*found.api_kwargs, *message.api_kwargs]),
    }


async def talk() -> dict[str, Any]:
    """Every method that the product calls, by the library, and what goes wrong."""
    base = asked["url"] + "/bot"
    told: dict[str, Any] = {}
    async with Bot(asked["token"], base_url=base) as bot:
        told["updates"] = [read(each, bot) for each in asked["updates"]]
        told["me"] = (await bot.get_me()).username
        member = await bot.get_chat_member(asked["group"], asked["user"])
        told["name"] = member.user.full_name
        for each in asked["messages"]:
            markup = each.get("reply_markup")
            keyboard = markup and InlineKeyboardMarkup.de_json(markup, bot)
            assert keyboard is None or keyboard.to_dict() == markup, markup
            reply = ReplyParameters(7, allow_sending_without_reply=True)
            chat, text = asked["group"], each["text"]
            await bot.send_message(
                chat, text, reply_markup=keyboard, reply_parameters=reply, message_thread_id=3
            )
        told["answered"] = await bot.answer_callback_query(
            asked["query"], text="済み", show_alert=True
        )
        told["errors"] = await failures(bot)
        await bot.delete_webhook()
        told["polled"] = [each.update_id for each in await bot.get_updates(offset=0, timeout=0)]
        allowed = ["message", "callback_query"]
        url = "https://crab.example.org/channels/telegram"
        await bot.set_webhook(url, secret_token="a-b_1", allowed_updates=allowed)
        told["webhook"] = (await bot.get_webhook_info()).url
    try:
        async with Bot("1:wrong", base_url=base) as bot:
            await bot.get_me()
    except InvalidToken:
        told["errors"].append("token")
    return told


async def failures(bot: Bot) -> list[str]:
    """The kinds of errors that the library makes of the fake's answers."""
    found = []
    for text in ("x" * 4_097, " "):
        try:
            await bot.send_message(asked["group"], text)
        except BadRequest:
            found.append("bad")
    try:
        await bot.get_updates(timeout=0)
    except Conflict:
        found.append("conflict")
    try:
        await bot.get_webhook_info()
    except RetryAfter as error:
        wait = error.retry_after
        found.append(f"retry {getattr(wait, 'total_seconds', lambda: wait)():.0f}")
    return found


json.dump(asyncio.run(talk()), sys.stdout)
