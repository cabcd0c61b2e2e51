"""Channel: utterances on Slack, in the thread of what they answer.

Slack shows a message that is posted twice twice: what may have been seen is not sent again.
"""

from opencrab.adapters.slack.client import SlackClient
from opencrab.adapters.slack.rendering import slack_messages_of_utterance
from opencrab.domain.chat.event import chat_address
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.ports.conversation.channel import Panel


class SlackChannel:
    """`ports.conversation.channel.DeliveryChannel` for Slack."""

    def __init__(self, slack: SlackClient) -> None:
        self._slack = slack

    def piece_count(self, utterance: Utterance) -> int:
        return max(len(slack_messages_of_utterance(utterance)), 1)

    def is_idempotent(self, utterance: Utterance) -> bool:
        return not utterance.text.strip()

    def send(self, utterance: Utterance) -> None:
        messages = slack_messages_of_utterance(utterance)
        if utterance.piece >= len(messages):
            return
        channel_id, thread = chat_address(utterance.channel)
        # An event without a thread, such as one in a private conversation, is named by its id.
        threaded = {"thread_ts": thread} if thread is not None and "." in thread else {}
        given = {"channel": channel_id, "unfurl_links": False, "unfurl_media": False}
        self._slack.call("chat.postMessage", {**given, **threaded, **messages[utterance.piece]})

    def show(self, place: Place, panel: Panel) -> None:
        """Do nothing: progress is told in words."""
