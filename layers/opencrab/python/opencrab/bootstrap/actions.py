"""The actions, skills, search and web access of this installation."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
    from opencrab.ports.mcp import McpLink
    from opencrab.settings import Settings


@dataclass(frozen=True)
class ActionParts:
    """The parts of a `Runtime` that its actions need."""

    actions: Registry
    search: Search
    skills: StandardSkills
    web: Web | None
    web_search: SearchEngine | None
    mcp: "McpLink | None"


def configured_actions(
    configured: "Settings",
    search: Search,
    carrier: "Callable[[], SearchTransport]",
    facts: Documents,
    *,
    load: "Callable[..., Settings] | None" = None,
    secrets: Secrets | None = None,
    is_local: bool = False,
    files: Iterable[Path] = (),
) -> ActionParts:
    """Build the registry of actions, without those that the settings do not configure.

    `facts` has what is known of MCP servers, `load` reads settings again with `secrets`; they
    may be commands if it `is_local`. Custom actions lie beside `files`.
    """
    web, web_search, absent = configured_web_access(configured, carrier)
    skills = FileSkills(settings.skills_folder_setting())
    groups, described = GROUPS, tuple[str, ...]()
    if configured.get("actions.modules"):
        from opencrab.bootstrap.custom_actions import groups_with_custom_actions

        groups, described = groups_with_custom_actions(
            configured, files, load, secrets, is_local=is_local
        )
    actions, mcp = Registry(groups, skills, absent, described=described), None
    if any(name.startswith("mcp.servers.") for name in configured.values):
        from opencrab.bootstrap.mcp import configured_mcp_link, registry_with_mcp_tools

        mcp = configured_mcp_link(configured, load, secrets, facts, is_local=is_local)
        actions = registry_with_mcp_tools(
            configured, mcp, facts, groups=groups, skills=skills, absent=absent, described=described
        )
    return ActionParts(
        actions=actions,
        search=search,
        skills=skills,
        web=web,
        web_search=web_search,
        mcp=mcp,
    )
