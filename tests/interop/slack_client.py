"""Slack's own Python library at work, by what a test gives it as JSON; run by a Python that has it.

It verifies requests of our fake, and calls our fake as Slack's API.
"""

import json
import sys
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.models.messages.message import Message
from slack_sdk.signature import Clock, SignatureVerifier


class At(Clock):  # type: ignore[misc]
    """The time of a test."""

    def __init__(self, at: float) -> None:
        self._at = at

    def now(self) -> float:
        """Return it."""
        return self._at


def verified(secret: str, body: str, timestamp: str, signature: str, at: float) -> bool:
    """Whether the library takes a signature."""
    verifier = SignatureVerifier(secret, At(at))
    return bool(verifier.is_valid(body=body, timestamp=timestamp, signature=signature))


def called(url: str, token: str, channel: str, user: str, blocks: Any) -> dict[str, Any]:
    """What the library hears from our fake."""
    client = WebClient(token, base_url=url)
    told = {
        "user": client.auth_test()["user"],
        "name": client.users_info(user=user)["user"]["profile"]["display_name"],
    }
    client.chat_postMessage(channel=channel, text="こんにちは🦀", blocks=blocks, thread_ts="1.1")
    client.chat_postEphemeral(channel=channel, user=user, text="あなただけに")
    try:
        client.chat_postMessage(channel="X1", text="?")
    except SlackApiError as error:
        told["error"] = error.response["error"]
    return told


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    for message in asked["messages"]:
        Message(**message).validate_json()
    answers = {
        "verified": [verified(**each) for each in asked["signatures"]],
        "called": called(**asked["call"]),
    }
    sys.stdout.write(json.dumps(answers))
