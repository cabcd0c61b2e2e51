"""LINE's own Python library at work, by what a test gives it as JSON; run by a Python that has it.

It verifies and reads requests of our fake, reads the bodies that our client sends, and calls our
fake as LINE's API.
"""

import json
import sys
from typing import Any

from linebot.v3 import messaging
from linebot.v3.webhook import SignatureValidator, WebhookParser


def verified(secret: str, body: str, signature: str) -> bool:
    """Whether the library takes a signature."""
    return bool(SignatureValidator(secret).validate(body, signature))


def parsed(secret: str, body: str, signature: str) -> list[dict[str, Any]]:
    """What the library reads from a request."""
    events = WebhookParser(secret).parse(body, signature)
    return [
        {
            "class": type(event).__name__,
            "id": event.webhook_event_id,
            "again": event.delivery_context.is_redelivery,
            "token": event.reply_token,
            "user": event.source.user_id,
            "text": getattr(getattr(event, "message", None), "text", None),
            "mentions": [
                bool(each.is_self)
                for each in getattr(
                    getattr(getattr(event, "message", None), "mention", None), "mentionees", ()
                )
            ],
            "data": getattr(getattr(event, "postback", None), "data", None),
        }
        for event in events
    ]


def same(kind: str, body: dict[str, Any]) -> bool:
    """Whether the library reads a request's body without losing or adding anything."""
    classes = {"reply": messaging.ReplyMessageRequest, "push": messaging.PushMessageRequest}
    read = classes[kind].from_dict(body).to_dict()
    read.pop("notificationDisabled", None)
    return bool(read == body)


def called(url: str, token: str, to: str, reply_token: str, key: str) -> dict[str, Any]:
    """What the library hears from our fake."""
    given = messaging.Configuration(host=url, access_token=token)
    with messaging.ApiClient(given) as client:
        api: Any = messaging.MessagingApi(client)
        texts = [messaging.TextMessage(text="こんにちは🦀")]
        replied = api.reply_message(
            messaging.ReplyMessageRequest(replyToken=reply_token, messages=texts)
        )
        push = messaging.PushMessageRequest(to=to, messages=texts)
        api.push_message(push, x_line_retry_key=key)
        told = dict[str, Any]()
        repeats: dict[str, Any] = {
            "again": lambda: api.push_message(push, x_line_retry_key=key),
            "used": lambda: api.reply_message(
                messaging.ReplyMessageRequest(replyToken=reply_token, messages=texts)
            ),
        }
        for name, call in repeats.items():
            try:
                call()
            except messaging.ApiException as error:
                told[name] = error.status
        return {
            **told,
            "replied": len(replied.sent_messages),
            "bot": api.get_bot_info().basic_id,
            "name": api.get_profile(to).display_name,
            "quota": api.get_message_quota().value,
            "used_quota": api.get_message_quota_consumption().total_usage,
            "endpoint": api.get_webhook_endpoint().endpoint,
            "tested": api.test_webhook_endpoint(messaging.TestWebhookEndpointRequest()).success,
        }


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    answers = {
        "verified": [verified(**each) for each in asked["signatures"]],
        "parsed": [parsed(**each) for each in asked["requests"]],
        "same": [same(**each) for each in asked["bodies"]],
        "called": called(**asked["call"]),
    }
    sys.stdout.write(json.dumps(answers))
