"""The actions, skills, search and web access of this installation."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from opencrab import settings
from opencrab.actions import GROUPS, Registry
from opencrab.adapters.skill_files import FileSkills
from opencrab.bootstrap.web import configured_web_access
from opencrab.ports.access.secrets import Secrets
from opencrab.ports.documents import Documents
from opencrab.ports.memory.search import Search
from opencrab.ports.skills import StandardSkills
from opencrab.ports.web import SearchEngine, Web

if TYPE_CHECKING:
    from opencrab.adapters.web.search import SearchTransport
    from opencrab.ports.mcp import McpServers
    from opencrab.settings import Settings


@dataclass(frozen=True)
class ActionParts:
    """The parts of a `Runtime` that its actions need."""

    actions: Registry
    search: Search
    skills: StandardSkills
    web: Web | None
    web_search: SearchEngine | None
    mcp: "McpServers | None"


def configured_actions(
    configured: "Settings",
    search: Search,
    carrier: "Callable[[], SearchTransport]",
    facts: Documents,
    *,
    load: "Callable[..., Settings] | None" = None,
    secrets: Secrets | None = None,
    stamp: Callable[[], object] | None = None,
    files: Iterable[Path] = (),
) -> ActionParts:
    """Build the registry of actions, without those that the settings do not configure.

    `facts` has what is known of MCP servers, `load` reads settings again with `secrets`. `stamp`
    changes with the settings files of a server on the owner's computer, where MCP servers may be
    commands and a change of them counts at once. Custom actions lie beside `files`.
    """
    web, web_search, absent = configured_web_access(configured, carrier)
    skills = FileSkills(settings.skills_folder_setting())
    groups, described = GROUPS, tuple[str, ...]()
    if configured.get("actions.modules"):
        from opencrab.bootstrap.custom_actions import groups_with_custom_actions

        groups, described = groups_with_custom_actions(
            configured, files, load, secrets, is_local=stamp is not None
        )

    def with_tools(link: "McpServers") -> Registry:
        from opencrab.bootstrap.mcp.servers import registry_with_mcp_tools

        return registry_with_mcp_tools(
            configured, link, facts, (groups, skills, absent), described=described
        )

    actions: Registry = Registry(groups, skills, absent, described=described)
    mcp = _configured_mcp(configured, load, stamp, secrets, facts)
    if stamp is not None and mcp is not None:
        from opencrab.bootstrap.mcp.following import FollowingMcpRegistry

        actions = FollowingMcpRegistry(actions, mcp, partial(with_tools, mcp))
    elif mcp is not None:
        actions = with_tools(mcp)
    return ActionParts(
        actions=actions,
        search=search,
        skills=skills,
        web=web,
        web_search=web_search,
        mcp=mcp,
    )


def _configured_mcp(
    configured: "Settings",
    load: "Callable[..., Settings] | None",
    stamp: Callable[[], object] | None,
    secrets: Secrets | None,
    facts: Documents,
) -> "McpServers | None":
    """Return the MCP servers, those of the owner's computer also if there are none yet."""
    if stamp is not None and load is not None and secrets is not None:
        from opencrab.bootstrap.mcp.following import FollowedMcpServers

        return FollowedMcpServers(configured, load, stamp, secrets, facts)
    if not any(name.startswith("mcp.servers.") for name in configured.values):
        return None
    from opencrab.bootstrap.mcp.servers import configured_mcp_link

    return configured_mcp_link(configured, load, secrets, facts, is_local=False)
