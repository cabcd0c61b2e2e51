"""The options of `agents edit` that attach a folder of this computer to an agent."""

from collections.abc import Mapping
from pathlib import Path

from opencrab.gateways.cli.terminal.terminal import Terminal

_ATTACHED = {"vault": "folder_attached_vault", "workspace": "folder_attached_workspace"}
_DETACHED = {"vault": "folder_detached_vault", "workspace": "folder_detached_workspace"}


def attach_folders_to_agent(
    terminal: Terminal, agent_id: str, folders: Mapping[str, str | None]
) -> bool:
    """Attach the named folders, or detach with 'default', and say so; True if any was named."""
    named = {place: folder for place, folder in folders.items() if folder is not None}
    for place, folder in named.items():
        is_own = folder.strip() == "default"
        whole = None if is_own else str(Path(folder).expanduser().absolute())
        kept = terminal.client.put("agents", agent_id, "folders", place, body={"folder": whole})
        if not (terminal.options.json or terminal.options.quiet):
            real = {each["place"]: each["folder"] for each in kept["items"]}
            sentence = (_DETACHED if is_own else _ATTACHED)[place]
            terminal.print_sentence(sentence, folder=real.get(place))
    return bool(named)
