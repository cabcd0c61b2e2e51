"""Portrait: one agent for a person to look at, its numbers as bars."""

from typing import Any

from rich.text import Text

from opencrab.domain.amounts import format_micro_usd
from opencrab.gateways.cli.terminal.lookup import AgentView
from opencrab.gateways.cli.terminal.tables import draw_fact_table_on_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.gateways.cli.terminal.text import clean_terminal_text

_BAR = 10


def draw_agent_profile(terminal: Terminal, agent: AgentView) -> None:
    """Draw an agent's settings, identity, personality and drives."""
    words, soul, identity = terminal.words, agent["soul"], agent["identity"]
    terminal.draw(Text(clean_terminal_text(agent["name"]), style="bold"))
    limit = agent["day_limit_micro_usd"]
    pairs = [
        (words("head_id"), agent["id"]),
        (words("head_status"), words.term(agent["status"])),
        (words("head_language"), agent["language"]),
        (words("head_purpose"), agent["purpose"]),
        (words("head_model"), agent["model"] or words("default_model")),
        (words("head_policy"), _policy(agent["policy"])),
        (words("head_interrupt"), agent.get("interrupt")),
        (words("head_time_zone"), agent.get("time_zone")),
        *_folders(terminal, agent["id"]),
        (words("head_day_limit"), None if limit is None else format_micro_usd(limit)),
        (words("head_persona"), soul["persona_name"]),
        (words("head_role"), identity["custom_role"] or identity["role"]),
        (words("head_job"), identity["job_title"]),
        (words("head_world_role"), identity["metadata"].get("world_role")),
        (words("head_organization"), identity["organization"]),
        (words("head_thinking"), _thinking(soul["thinking_style"])),
    ]
    numbers = {**soul["personality"], **_drives(soul)}
    bars = [(words.term(name), agent_trait_bar(value)) for name, value in numbers.items()]
    style = soul["social_style"]
    social = [
        (words.term(name), agent_trait_bar((style[name] + 1) / 2, shown=style[name]))
        for name in ("assertiveness", "responsiveness")
    ]
    draw_fact_table_on_terminal(
        terminal.console, [*pairs, *bars, *social, *soul["custom_traits"].items()]
    )


def agent_trait_bar(share: float, shown: float | None = None) -> str:
    """Format a number from 0 to 1 as a bar and a number; `shown` replaces the number."""
    full = round(min(max(share, 0.0), 1.0) * _BAR)
    return f"{'━' * full}{'╌' * (_BAR - full)} {share if shown is None else shown:.2g}"


def _folders(terminal: Terminal, agent_id: str) -> list[tuple[str, str]]:
    """Return the folders of the computer that serve an agent; only an owner may know them."""
    from opencrab.domain.errors import OpenCrabError

    try:
        found = terminal.client.get("agents", agent_id, "folders")["items"]
    except OpenCrabError:
        return []
    return [(terminal.words(f"head_{each['place']}"), each["folder"]) for each in found]


def _drives(soul: dict[str, Any]) -> dict[str, float]:
    """Return the agent's drives, derived from the personality if none are set."""
    from opencrab.domain.agents.soul import Personality, soul_drives

    derived = soul_drives(Personality.model_validate(soul["personality"]))
    return soul["drives"] or derived.model_dump()


def _policy(policy: str | list[str]) -> str:
    return policy if isinstance(policy, str) else ", ".join(policy) or "strict"


def _thinking(style: dict[str, Any]) -> str:
    words = f"{style['primary']} / {style['secondary']}"
    return f"{words}\n{style['description']}" if style["description"] else words
