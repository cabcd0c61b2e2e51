"""Editor: a value as JSON in the user's own editor, again until it can be read."""

import json
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from opencrab.domain.errors import Invalid, Unavailable
from opencrab.gateways.cli.terminal.input import ask_yes_or_no_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal


def edit_in_terminal_editor(terminal: Terminal, value: dict[str, Any]) -> dict[str, Any]:
    """Let the user edit a value in their editor; raises Invalid if they give up."""
    with tempfile.TemporaryDirectory(prefix="opencrab-") as folder:
        path = Path(folder) / "agent.json"
        text = json.dumps(value, ensure_ascii=False, indent=2)
        path.write_text(f"{text}\n", encoding="utf-8")
        while True:
            open_in_editor(terminal, path)
            try:
                changed = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                why = str(error)
            else:
                if isinstance(changed, dict):
                    return changed
                why = terminal.words("not_an_object")
            terminal.print_note("not_json", why=why)
            if not ask_yes_or_no_on_terminal(terminal.words("edit_again"), default=True):
                raise Invalid(
                    terminal.words("not_json", why=why), cure=terminal.words("not_json_cure")
                )


def open_in_editor(terminal: Terminal, path: Path) -> None:
    """Open a file in the user's editor, and wait for its end; raises Unavailable."""
    editor = terminal.options.editor
    try:
        subprocess.run([*shlex.split(editor), str(path)], check=True)  # noqa: S603 - their editor
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise Unavailable(
            terminal.words("no_editor", editor=editor, why=error),
            cure=terminal.words("no_editor_cure"),
        ) from error
