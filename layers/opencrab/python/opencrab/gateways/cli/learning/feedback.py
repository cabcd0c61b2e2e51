"""The command that tells an agent what one thought of a turn."""

from enum import StrEnum
from typing import Annotated

from opencrab.gateways.cli.terminal.arguments import TurnId, cli_argument
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.terminal import Terminal


class Thumbs(StrEnum):
    """The rating of a turn: thumbs up or down."""

    UP = "up"
    DOWN = "down"


@cli_command
def give_learning_feedback(
    terminal: Terminal,
    turn: TurnId,
    thumbs: Annotated[Thumbs, cli_argument("up (good) or down (bad).")],
    remark: Annotated[str, cli_argument("The reason, in your words.", "REMARK")] = "",
) -> None:
    """Rate a turn; the agent learns from it."""
    body = {"thumbs": thumbs.value, "remark": remark}
    kept = terminal.client.post("turns", turn, "feedback", body=body)
    terminal.print_result(kept, "feedback_kept", id=kept["turn_id"])
