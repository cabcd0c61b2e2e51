"""An agent in the forms of other programs, as far as they fit: a character card, an agent file."""

from collections.abc import Iterable
from typing import Any

from opencrab.domain.bundle.agent import BundledAgent
from opencrab.domain.memory.memory import Memory
from opencrab.engine.agents.character_card import character_card_labels

_LIMIT = 20_000
"""The characters of a block that Letta's own files have."""


def character_card_of_agent(agent: BundledAgent) -> dict[str, Any]:
    """Return a card of version 3: the persona alone, since cards are for sharing.

    Traits that came from a card go back to their fields. Settings and memories are not in it.
    """
    labels = character_card_labels()
    texts = dict.fromkeys(("description", "personality", "scenario", "mes_example"), "")
    others = list[str]()
    for label, text in agent.soul.custom_traits.items():
        part = labels.get(label)
        if part is None:
            others.append(f"{label}: {text}")
        else:
            texts[part] = text
    plain = agent.soul.replaced(custom_traits={})
    texts["personality"] = "\n".join(filter(None, (texts["personality"], *others)))
    texts["description"] = "\n\n".join(
        filter(None, (texts["description"], agent.purpose, plain.describe(agent.language)))
    )
    data: dict[str, Any] = {
        "name": agent.identity.name,
        **texts,
        "first_mes": "",
        "creator_notes": "",
        "system_prompt": "",
        "post_history_instructions": "",
        "alternate_greetings": [],
        "group_only_greetings": [],
        "tags": [],
        "creator": "",
        "character_version": "1",
        "extensions": {},
    }
    return {"spec": "chara_card_v3", "spec_version": "3.0", "data": data}


def letta_file_of_agent(agent: BundledAgent, memories: Iterable[Memory]) -> dict[str, Any]:
    """Return an agent file (`.af`) with the persona and the trusted memories as blocks."""
    card = character_card_of_agent(agent)["data"]
    persona = "\n\n".join(filter(None, (card["description"], card["personality"])))
    known = "\n".join(
        f"- {' '.join(each.content.split())}" for each in memories if not each.tainted
    )
    blocks = [
        _block(number, label, text)
        for number, (label, text) in enumerate((("persona", persona), ("memories", known)))
        if text
    ]
    made = {
        "id": "agent-0",
        "name": agent.name,
        "description": agent.purpose,
        "agent_type": "letta_v1_agent",
        "system": "",
        "block_ids": [block["id"] for block in blocks],
        "memory_blocks": [],
        "tools": [],
        "tool_ids": [],
        "source_ids": [],
        "tool_rules": [],
        "tags": [],
        "in_context_message_ids": [],
        "messages": [],
        "files_agents": [],
        "group_ids": [],
    }
    empty: dict[str, list[Any]] = {
        key: [] for key in ("groups", "files", "sources", "tools", "mcp_servers")
    }
    return {"agents": [made], "blocks": blocks, **empty, "metadata": {}}


def _block(number: int, label: str, text: str) -> dict[str, Any]:
    return {
        "id": f"block-{number}",
        "label": label,
        "value": text[:_LIMIT],
        "limit": _LIMIT,
        "description": "",
        "metadata": {},
    }
