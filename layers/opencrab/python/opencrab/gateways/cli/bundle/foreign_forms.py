"""Writes an agent in the form of another program."""

import json
from pathlib import Path
from typing import Any

from opencrab.domain.bundle.agent import BundledAgent
from opencrab.domain.bundle.contents import AGENT
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.engine.bundle.foreign_forms import character_card_of_agent, letta_file_of_agent
from opencrab.gateways.cli.bundle.receiving import bundle_rows_of_server
from opencrab.gateways.cli.terminal.files import write_file_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal

CARD = "character-card"


def write_agent_for_others(
    terminal: Terminal, agent_id: str, target: Path, *, form: str, replace: bool
) -> dict[str, Any]:
    """Write a character card or an agent file; return its name and size. Raises Conflict."""
    agent: BundledAgent | None = None
    memories = list[Memory]()
    for row in bundle_rows_of_server(terminal, ("agents", agent_id, "bundle")):
        if row["kind"] == AGENT:
            agent = BundledAgent.model_validate(row["value"])
        elif row["kind"] == MEMORY:
            memories.append(Memory.model_validate(row["value"]))
    if agent is None:
        raise AssertionError("an export begins with its agent")
    made = character_card_of_agent(agent) if form == CARD else letta_file_of_agent(agent, memories)
    content = json.dumps(made, ensure_ascii=False, indent=2).encode()
    write_file_for_terminal(terminal, target, content, replace=replace)
    return {"file": str(target), "size": len(content)}
