"""Acks: how each interaction is acknowledged; the door and the worker both read it here.

It imports nothing, since the door's cold start is counted in milliseconds.
"""

PING, COMMAND, COMPONENT, AUTOCOMPLETE, MODAL_SUBMIT = 1, 2, 3, 4, 5
"""The types of interactions."""

PONG, MESSAGE, DEFERRED, DEFERRED_UPDATE, CHOICES, MODAL = 1, 4, 5, 6, 8, 9
"""The types of answers to them."""

EPHEMERAL = 64
"""The flag of an answer that only who asked can see; an answer keeps what its first one had."""

PUBLIC_COMMANDS = frozenset({"ask", "task", "session", "Ask about this"})
"""Commands that the whole channel sees the answer to."""

STEER, STEERED = "oc:st:", "oc:sm:"
"""How the custom ids of the button that asks for a steering message and of its form begin."""

STEERING_TEXT = "text"
"""The custom id of the field in that form."""

STEERING_CHARACTERS = 4_000

CHOICES_KIND, CHOICES_ID = "discord_choices", "current"
"""The installation's fact with the agents and models that can be chosen."""

OFFERED = {"agent": "agents", "model": "models"}
"""Which part of it completes which option."""

STEERING_WORDS = {
    "en": ("Steer", "What to do differently", "From the next step on"),
    "ja": ("追加の指示", "これからどうしてほしいか", "次のステップから有効"),
}
"""The form's title, the field's name, and what it says below."""

NOT_TAKEN = {
    "en": "I may not have taken this. If no answer comes within a minute, please ask again.",
    "ja": "受け付けられたか分かりません。1分待って返事がなければ、もう一度お試しください。",
}


def interaction_language(locale: object) -> str:
    """Return the language for a Discord locale: `ja` or `en`."""
    return "ja" if isinstance(locale, str) and locale.partition("-")[0] == "ja" else "en"


def ack_of_command_interaction(command: str) -> dict[str, object]:
    """Acknowledge a command: Discord shows that the bot is thinking."""
    return _thinking(ephemeral=command not in PUBLIC_COMMANDS)


def discord_ack_of_button() -> dict[str, object]:
    """Acknowledge a button: its message will be updated."""
    return {"type": DEFERRED_UPDATE}


def discord_ack_of_form() -> dict[str, object]:
    """Acknowledge a submitted form."""
    return _thinking(ephemeral=True)


def steering_form_of_interaction(custom_id: str, locale: object) -> dict[str, object]:
    """Answer the steering button with a form that has one field."""
    title, label, description = STEERING_WORDS[interaction_language(locale)]
    field = {
        "type": 4,
        "custom_id": STEERING_TEXT,
        "style": 2,
        "required": True,
        "max_length": STEERING_CHARACTERS,
    }
    data = {
        "custom_id": STEERED + custom_id.removeprefix(STEER),
        "title": title,
        "components": [
            {"type": 18, "label": label, "description": description, "component": field}
        ],
    }
    return {"type": MODAL, "data": data}


def interaction_not_taken(locale: object) -> dict[str, object]:
    """Answer that an interaction could not be stored."""
    data = {
        "content": NOT_TAKEN[interaction_language(locale)],
        "flags": EPHEMERAL,
        "allowed_mentions": {"parse": []},
    }
    return {"type": MESSAGE, "data": data}


def _thinking(*, ephemeral: bool) -> dict[str, object]:
    return {"type": DEFERRED, "data": {"flags": EPHEMERAL}} if ephemeral else {"type": DEFERRED}
