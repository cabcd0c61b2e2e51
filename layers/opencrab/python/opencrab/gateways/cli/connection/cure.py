"""What to do about an error, in commands: the server's errors name routes of REST."""

import re

_COMMANDS = (
    (r"GET /api/agents/([^/\s`]+)/(experiments|changes)", r"`opencrab learning \2 \1`"),
    (r"GET /api/sessions/[^/\s`]+/messages", "`opencrab turns list`"),
    (r"GET /api/(agents|sessions)(?![/\w])", r"`opencrab \1 list`"),
)


def name_commands_in_cure(cure: str) -> str:
    """Replace the routes that a server sends people to by the commands that ask them."""
    for route, command in _COMMANDS:
        cure = re.sub(route, command, cure)
    return cure
