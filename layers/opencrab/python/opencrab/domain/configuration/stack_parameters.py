"""Settings that the template of AWS has parameters for: which of them an uploaded file may set."""

from collections.abc import Iterable, Mapping

from opencrab.domain.configuration.file_check import CheckedFile, SettingFault
from opencrab.domain.configuration.rule import SettingProblem

PARAMETERS: Mapping[str, str] = {
    "llm.default_provider": "DefaultProvider",
    "llm.default_model": "DefaultModel",
    "budget.agent_day_usd": "AgentDayUsd",
    "budget.installation_day_usd": "InstallationDayUsd",
    "agent.time_zone": "TimeZone",
    "gateway.discord.guild_ids": "DiscordGuildIds",
    "gateway.discord.owner_ids": "DiscordOwnerIds",
    "gateway.discord.user_ids": "DiscordUserIds",
    "gateway.discord.role_ids": "DiscordRoleIds",
    "gateway.websocket.origins": "WebSocketOrigins",
    "search.vectors": "SearchVectors",
}
"""Settings with a parameter, which an uploaded file overrides."""

RESOURCE_PARAMETERS: Mapping[str, str] = {
    "search.backend": "SearchBackend",
    "search.opensearch_endpoint": "SearchBackend",
    "world.bus": "World",
    "workspace.deleted_versions_days": "DeletedVersionsDays",
    "gateway.discord.enabled": "Discord",
    "gateway.discord.application_id": "DiscordApplicationId",
    "gateway.discord.public_key": "DiscordPublicKey",
    "gateway.discord.api": "DiscordApi",
    "gateway.line.enabled": "Channels",
    "gateway.slack.enabled": "Channels",
    "gateway.telegram.enabled": "Channels",
    "log.level": "LogLevel",
}
"""Settings that a file cannot set on AWS: resources follow them, or functions without a file."""

LOCAL_ONLY = frozenset({"gateway.email.enabled"})
"""Switches that a file on AWS must leave off: what they switch on runs on one's own computer."""

_VECTORS = "search.vectors"
"""A file may turn it off; the parameter alone turns it on, since the indexer's rights follow it."""

_PROVIDER, _MODEL = "llm.default_provider", "llm.default_model"


def find_stack_parameter_faults(checked: CheckedFile) -> tuple[SettingFault, ...]:
    """Return the settings of a file that it cannot set on AWS, each with its line."""
    parameters = dict(RESOURCE_PARAMETERS)
    if checked.values.get(_VECTORS) is True:
        parameters[_VECTORS] = PARAMETERS[_VECTORS]
    found = (
        SettingFault(
            checked.lines[name],
            name,
            SettingProblem("stack_parameter", {"parameter": parameters[name]}),
            value,
        )
        for name, value in checked.values.items()
        if name in parameters
    )
    local = (
        SettingFault(checked.lines[name], name, SettingProblem("local_only"), checked.values[name])
        for name in LOCAL_ONLY
        if checked.values.get(name) is True
    )
    return tuple(sorted((*found, *local), key=lambda fault: fault.line))


def parameters_replaced_by_file(names: Iterable[str]) -> frozenset[str]:
    """Return the settings whose parameters do not count beside a file that sets `names`.

    A file that names a provider also replaces the parameter of its model, which is another's.
    """
    own = set(names)
    replaced = {name for name in PARAMETERS if name in own}
    return frozenset(replaced | {_MODEL} if _PROVIDER in own else replaced)
