"""The command that runs the demo world: it binds the founders, then only speaks the protocol."""

from pathlib import Path
from typing import Annotated, Any

from opencrab.domain.errors import Conflict, Invalid, Unavailable
from opencrab.gateways.cli.terminal.arguments import cli_option
from opencrab.gateways.cli.terminal.command import cli_command
from opencrab.gateways.cli.terminal.lookup import living_agents_for_terminal
from opencrab.gateways.cli.terminal.terminal import Terminal
from opencrab.ports.demo_world import DemoWorldProcess

HOUR, DAY = 3_600, 24
FOLDER = "world-demo"
_TOLD = {
    "waits": "world_waits",
    "lost": "world_lost",
    "joined": "world_joined",
    "refused": "world_refused",
    "hour": "world_hour",
}
"""Sentences about what happens in the world, by the name of the event."""


@cli_command
def run_demo_world(
    terminal: Terminal,
    *,
    seed: Annotated[int, cli_option("Seed of a new world; the same seed brings the same.")] = 1,
    speed: Annotated[float, cli_option("Simulated time runs so many times faster.")] = 60.0,
    days: Annotated[
        float | None, cli_option("End after so many simulated days; default: never.")
    ] = None,
    trust: Annotated[
        int | None,
        cli_option("Trust it: most cost a day that each founder may send without approval."),
    ] = None,
    folder: Annotated[
        Path | None, cli_option("Where the world keeps itself; default: DATA/world-demo.")
    ] = None,
) -> None:
    """Run the demo world for the eight founders, with a market, bounties and events."""
    if terminal.options.demo_world is None:
        raise Unavailable("the demo world is not installed", cure="install the full package")
    if not 1 <= speed <= 36_000 or (days is not None and not 0 < days <= 366):  # noqa: PLR2004
        raise Invalid(terminal.words("world_speed_range"))
    world = terminal.options.demo_world(folder or terminal.options.data / FOLDER, seed)
    names = _bind_founders(terminal, world, trust)
    url = terminal.client.address.url.rstrip("/")
    try:
        world.run(
            f"ws{url.removeprefix('http')}/worlds",
            lambda key, facts: _tell(terminal, key, facts),
            hour_seconds=HOUR / speed,
            hours=None if days is None else round(days * DAY),
        )
    except KeyboardInterrupt:
        terminal.print_note("world_stopped")
    accounts = world.accounts()
    for each in accounts:
        each["name"] = names.get(each.get("key_id", ""), "")
    terminal.show(accounts, _draw_accounts)


def _bind_founders(
    terminal: Terminal, world: DemoWorldProcess, trust: int | None
) -> dict[str, str]:
    """Create the founders that are missing and bind them; return their names by their keys."""
    from opencrab.domain.value import Language
    from opencrab.engine.agents.presets import agent_from_preset, founder_presets, is_founder_preset

    language, names = Language(terminal.options.language.for_agents), dict[str, str]()
    asks = False
    known = {agent["name"]: agent for agent in living_agents_for_terminal(terminal)}
    for each in founder_presets():
        told = {words.name for words in each.words.values()}
        agent = next((known[name] for name in told if name in known), None)
        if agent is None:
            body = agent_from_preset(each, language).model_dump(mode="json", exclude_unset=True)
            agent = terminal.client.post("agents", body=body)
        elif not is_founder_preset(each, agent["identity"]["metadata"], agent["purpose"]):
            terminal.print_note("world_namesake", name=agent["name"])
            continue
        place = ("agents", agent["id"], "world")
        body = {"world_id": world.world_id, "keys": [world.public_key], "role": each.role.value}
        try:
            bound = terminal.client.put(*place, body=body)
        except Conflict:
            terminal.print_note("world_elsewhere", name=agent["name"])
            continue
        if trust is not None:
            policy = {"trusted": True, "daily_limit": trust}
            bound = terminal.client.put(*place, "policy", body=policy)
        asks = asks or bound["trust"] is None
        names[bound["key_id"]] = agent["name"]
    terminal.print_note("world_founders", count=len(names))
    if asks:
        terminal.print_note("world_asks_hint")
    return names


def _tell(terminal: Terminal, key: str, facts: dict[str, Any]) -> None:
    """Say what happens in the world, on standard error."""
    state = facts.get("state")
    if state is None:
        terminal.print_note(_TOLD[key], **facts)
        return
    day, hour = divmod(state.cycle - 1, DAY)
    held = sum(each.balance for each in state.citizens.values())
    terminal.print_note(
        _TOLD[key],
        day=day + 1,
        hour=hour,
        cycle=state.cycle,
        bounties=len(state.bounties),
        held=held,
        treasury=state.treasury,
    )


def _draw_accounts(terminal: Terminal, accounts: list[dict[str, Any]]) -> None:
    *citizens, rest = accounts
    fields = ("name", "role", "balance", "entries", "reputation", "parts")
    heads = ("name", "world_role", "world_balance", "world_entries", "world_reputation")
    rows = [tuple(str(each[field]) for field in fields) for each in citizens]
    terminal.table((*heads, "world_parts"), rows)
    held = sum(each["balance"] for each in citizens)
    total = held + rest["treasury"] + rest["bounties"]
    terminal.print_sentence("world_sum", held=held, total=total, **rest)
