"""Commands: what people can ask for on Discord, as Discord is told of it in English and Japanese.

`commands.json` has them as they are registered. Everybody may give every command: who may do what
is decided when it is done, by OpenCrab's own rules, and not by permissions of a server.
"""

import json
from pathlib import Path
from typing import Any

COMMANDS: tuple[dict[str, Any], ...] = tuple(
    json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
)
"""All of them; whoever registers these takes away every other."""
