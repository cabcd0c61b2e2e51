"""The rule of every setting, by its name; `*` in a name stands for any name of the user's."""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from opencrab.domain.configuration.rule import (
    SECRET_NAME,
    VARIABLE,
    SettingKind,
    SettingProblem,
    SettingRule,
    find_setting_problem,
)

_USES = ("thinking", "conversation", "analysis", "tool_calling", "creative", "embedding")
_ADDRESS = {"pattern": r"(https?://\S+)?", "example": '"https://example.org/v1"'}
_IDS = {"pattern": r"[0-9]{15,21}", "example": '["175928847299117063"]'}
_LINE_IDS = {"pattern": r"U[0-9a-f]{32}", "example": '["U4af4980629a1b2c3d4e5f60718293a4b"]'}
_SLACK_IDS = {"pattern": r"[UW][A-Z0-9]{2,20}", "example": '["U061F7AUR"]'}
_TELEGRAM_IDS = {"pattern": r"[0-9]{1,20}", "example": '["5551234567"]'}
_EMAIL = {"pattern": r"([^\s@<>]+@[^\s@<>]+)?", "example": '"crab@example.org"'}
_EMAILS = {"pattern": r"[^\s@<>]+@[^\s@<>]+", "example": '["me@example.org"]'}
_IMAP = {"pattern": r"(imaps?://[^\s/@]+/?)?", "example": '"imaps://imap.example.org"'}
_SMTP = {"pattern": r"(smtps?://[^\s/@]+/?)?", "example": '"smtps://smtp.example.org"'}
_MODULE = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"
_MOST_USD = 1_000_000
_LONGEST_CALL = 280
_ALWAYS_ON = (True,)


def _prime(value: int) -> SettingProblem | None:
    from opencrab.domain.agents.heartbeat import (  # noqa: PLC0415 - only if it is set
        is_prime_agent_interval,
        prime_agent_interval,
    )

    if is_prime_agent_interval(value):
        return None
    return SettingProblem("prime", {"nearest": prime_agent_interval(value)})


def _zone(value: str) -> SettingProblem | None:
    from opencrab.domain.agents.heartbeat import is_agent_time_zone_name  # noqa: PLC0415 - only if it is set

    name = value.strip()
    return (
        None if name in {"", "local"} or is_agent_time_zone_name(name) else SettingProblem("zone")
    )


def _interval(value: str) -> SettingProblem | None:
    """Refuse less than ten minutes; the pattern allows nothing else."""
    is_short = value.endswith("m") and int(value[:-1]) < 10  # noqa: PLR2004 - minutes
    return SettingProblem("interval") if is_short else None


def _price(value: str) -> SettingProblem | None:
    """Refuse a price of nothing: only a server of the owner's costs nothing."""
    return None if not value or value.strip("0./ ") else SettingProblem("no_price")


def _text(**details: Any) -> SettingRule:
    return SettingRule(SettingKind.TEXT, **details)


def _texts(**details: Any) -> SettingRule:
    return SettingRule(SettingKind.TEXTS, **details)


def _whole(
    least: int,
    most: int | None = None,
    judge: Callable[[Any], SettingProblem | None] | None = None,
) -> SettingRule:
    return SettingRule(SettingKind.WHOLE, least=least, most=most, judge=judge)


def _number(least: float, most: float) -> SettingRule:
    return SettingRule(SettingKind.NUMBER, least=least, most=most)


def _unchangeable(kind: SettingKind, reason: str, *values: object) -> SettingRule:
    return SettingRule(kind, fixed=values, reason=reason)


_SWITCH = SettingRule(SettingKind.SWITCH)
_SECRET = SettingRule(SettingKind.SECRET)
_MODEL = SettingRule(SettingKind.MODEL)
_SHARE = SettingRule(SettingKind.NUMBER, above=0, most=1)
_TOKENS = _whole(16, 1_000_000)
_EFFORT = _text(choices=("low", "medium", "high"))
_SECONDS = SettingRule(SettingKind.NUMBER, above=0, most=_LONGEST_CALL)

_MODELS: dict[str, SettingRule] = {
    "llm.default_provider": _text(),
    "llm.default_model": _text(),
    "llm.prices_url": _text(**_ADDRESS),
    **{f"llm.models.{use}": _MODEL for use in _USES},
    **{f"llm.uses.{use}.temperature": _number(0, 2) for use in _USES if use != "embedding"},
    **{f"llm.uses.{use}.top_p": _SHARE for use in _USES if use != "embedding"},
    **{f"llm.uses.{use}.max_output_tokens": _TOKENS for use in _USES if use != "embedding"},
    **{f"llm.uses.{use}.reasoning_effort": _EFFORT for use in _USES if use != "embedding"},
    **{f"llm.uses.{use}.stop": _texts() for use in _USES if use != "embedding"},
    **{f"llm.uses.{use}.timeout_seconds": _SECONDS for use in _USES},
    "llm.self_selection.enabled": _SWITCH,
    "llm.self_selection.allowed_aliases": _texts(),
    "llm.fallback.chain": _texts(),
    "llm.aliases.*": _MODEL,
    "llm.providers.*.kind": _text(
        choices=(
            "openai",
            "azure",
            "anthropic",
            "google",
            "bedrock",
            "openrouter",
            "ollama",
            "llamacpp",
            "scripted",
        )
    ),
    "llm.providers.*.base_url": _text(**_ADDRESS),
    "llm.providers.*.api_key": _SECRET,
    "llm.providers.*.default_model": _text(),
    "llm.providers.*.organization": _text(),
    "llm.providers.*.site_url": _text(),
    "llm.providers.*.app_name": _text(),
    "llm.providers.*.key_name": _text(pattern=r"([A-Z][A-Z0-9_]*)?", example='"MY_API_KEY"'),
    "llm.providers.*.script": _text(),
    "llm.providers.*.api_version": _text(),
    "llm.providers.*.profile": _text(),
    "llm.providers.*.enabled": _SWITCH,
    "llm.providers.*.private": _SWITCH,
    "llm.providers.*.stream": _SWITCH,
    "llm.providers.*.timeout_seconds": _SECONDS,
    "llm.providers.*.usd_per_million": _text(
        pattern=r"([0-9]{1,4}(\.[0-9]{1,6})? ?/ ?[0-9]{1,4}(\.[0-9]{1,6})?)?",
        example='"0.15/0.60"',
        judge=_price,
    ),
}

_GATEWAYS: dict[str, SettingRule] = {
    "gateway.rest.enabled": _unchangeable(SettingKind.SWITCH, "rest", *_ALWAYS_ON),
    "gateway.rest.port": _whole(1, 65_535),
    "gateway.rest.client_tool_minutes": _whole(1, 10_080),
    "gateway.discord.enabled": _SWITCH,
    "gateway.discord.token": _SECRET,
    "gateway.discord.application_id": _text(pattern=r"([0-9]{15,21})?", example=_IDS["example"]),
    "gateway.discord.public_key": _text(
        pattern=r"([0-9a-fA-F]{64})?", example="64 hexadecimal digits in quotes"
    ),
    "gateway.discord.guild_ids": _texts(**_IDS),
    "gateway.discord.owner_ids": _texts(**_IDS),
    "gateway.discord.user_ids": _texts(**_IDS),
    "gateway.discord.role_ids": _texts(**_IDS),
    "gateway.discord.stream": _SWITCH,
    "gateway.discord.api": _text(**_ADDRESS),
    "gateway.line.enabled": _SWITCH,
    "gateway.line.channel_secret": _SECRET,
    "gateway.line.access_token": _SECRET,
    "gateway.line.agent": _text(),
    "gateway.line.owner_ids": _texts(**_LINE_IDS),
    "gateway.line.user_ids": _texts(**_LINE_IDS),
    "gateway.line.groups": _text(choices=("mentioned", "off")),
    "gateway.line.api": _text(**_ADDRESS),
    "gateway.slack.enabled": _SWITCH,
    "gateway.slack.signing_secret": _SECRET,
    "gateway.slack.bot_token": _SECRET,
    "gateway.slack.agent": _text(),
    "gateway.slack.owner_ids": _texts(**_SLACK_IDS),
    "gateway.slack.user_ids": _texts(**_SLACK_IDS),
    "gateway.slack.groups": _text(choices=("mentioned", "off")),
    "gateway.slack.api": _text(**_ADDRESS),
    "gateway.telegram.enabled": _SWITCH,
    "gateway.telegram.polling": _SWITCH,
    "gateway.telegram.webhook_secret": _SECRET,
    "gateway.telegram.bot_token": _SECRET,
    "gateway.telegram.agent": _text(),
    "gateway.telegram.owner_ids": _texts(**_TELEGRAM_IDS),
    "gateway.telegram.user_ids": _texts(**_TELEGRAM_IDS),
    "gateway.telegram.groups": _text(choices=("mentioned", "off")),
    "gateway.telegram.api": _text(**_ADDRESS),
    "gateway.email.enabled": _SWITCH,
    "gateway.email.address": _text(**_EMAIL),
    "gateway.email.imap": _text(**_IMAP),
    "gateway.email.smtp": _text(**_SMTP),
    "gateway.email.user": _text(),
    "gateway.email.password": _SECRET,
    "gateway.email.mailbox": _text(pattern=r"[ !#-\[\]-~]{1,200}", example='"INBOX"'),
    "gateway.email.authserv_id": _text(pattern=r"\S*", example='"mx.google.com"'),
    "gateway.email.unverified": _text(choices=("ignore", "answer")),
    "gateway.email.agent": _text(),
    "gateway.email.aliases": _texts(
        pattern=r"[^\s@]+@[^\s@=]+=.*\S", example='["crab+mika@example.org=mika"]'
    ),
    "gateway.email.owner_addresses": _texts(**_EMAILS),
    "gateway.email.user_addresses": _texts(**_EMAILS),
    "gateway.email.most_per_hour": _whole(1, 1_000),
    "gateway.websocket.enabled": _SWITCH,
    "gateway.websocket.origins": _texts(
        pattern=r"https?://[^/\s]+/?", example='["https://crab.example.org"]'
    ),
    "gateway.a2a.enabled": _SWITCH,
    "gateway.a2a.agent": _text(),
    "gateway.ag_ui.enabled": _SWITCH,
    "gateway.cli.enabled": _unchangeable(SettingKind.SWITCH, "cli", *_ALWAYS_ON),
    "dashboard.enabled": _SWITCH,
    "dashboard.port": _whole(0, 65_535),
    "web.allow": _texts(pattern=r"https?://\S+", example='["https://docs.python.org/3/"]'),
    "web.search.kind": _text(choices=("brave", "searxng")),
    "web.search.api_key": _SECRET,
    "web.search.base_url": _text(**_ADDRESS),
    "world.bus": _text(),
    "actions.modules": _texts(pattern=_MODULE, example='["tickets"]'),
    "actions.agents": _texts(),
    "actions.prompt_bytes": _whole(0, 65_536),
    "actions.values.*": SettingRule(SettingKind.SECRET, pattern=r"[^\x00]*"),
    "mcp.prompt_bytes": _whole(0, 65_536),
    "mcp.servers.*.command": _text(),
    "mcp.servers.*.args": _texts(),
    "mcp.servers.*.env.*": SettingRule(SettingKind.SECRET, pattern=r"[^\x00]*"),
    "mcp.servers.*.url": _text(**_ADDRESS),
    "mcp.servers.*.openapi": _text(),
    "mcp.servers.*.a2a": _text(**_ADDRESS),
    "mcp.servers.*.operations": _texts(),
    "mcp.servers.*.headers.*": SettingRule(
        SettingKind.SECRET, pattern=rf"[ -~]*{VARIABLE.pattern}[ -~]*"
    ),
    "mcp.servers.*.oauth.client_id": _text(),
    "mcp.servers.*.oauth.client_secret": _SECRET,
    "mcp.servers.*.oauth.scope": _text(),
    "mcp.servers.*.oauth.issuer": _text(**_ADDRESS),
    "mcp.servers.*.agents": _texts(),
    "mcp.servers.*.timeout_seconds": _SECONDS,
    "mcp.servers.*.max_result_kb": _whole(1, 4_096),
    "mcp.servers.*.enabled": _SWITCH,
    "telemetry.otlp.endpoint": _text(**_ADDRESS),
    "telemetry.otlp.headers": SettingRule(SettingKind.SECRET, pattern=r"[ -~]*"),
    "telemetry.otlp.content": _SWITCH,
    "telemetry.otlp.metrics": _SWITCH,
}

_AGENTS: dict[str, SettingRule] = {
    "agent.heartbeat_interval_secs": _whole(29, 86_399, _prime),
    "agent.time_zone": _text(judge=_zone),
    "agent.workspace_path": _unchangeable(
        SettingKind.TEXT, "workspace", "data/{agent_id}/workspace"
    ),
    "agent.max_workspace_size_mb": _whole(1, 1_048_576),
    "agent.max_steps": _whole(1, 1_000),
    "agent.ask_purpose": _SWITCH,
    "budget.turn_usd": _number(0, _MOST_USD),
    "budget.agent_day_usd": _number(0, _MOST_USD),
    "budget.installation_day_usd": _number(0, _MOST_USD),
    "budget.session_usd": _number(0, _MOST_USD),
    "budget.heartbeat_percent": _whole(0, 100),
    "budget.public_user_day_usd": _number(0, _MOST_USD),
    "context.high_water_tokens": _whole(1_000, 10**7),
    "context.history_lines": _whole(8, 1_000),
    "memory.compact_every_lines": _whole(0, 1_000),
    "autonomy.goal_threshold": _number(0, 10),
    "autonomy.cycle_seconds": _whole(1, 10**7),
    "autonomy.survival_percent": _whole(0, 100),
    "autonomy.survival_balance": SettingRule(SettingKind.WHOLE),
    "autonomy.warn_after": _whole(1),
    "autonomy.dormant_after": _whole(1),
    "autonomy.review_seconds": _whole(60),
    "autonomy.task_turns": _whole(1, 20),
    "autonomy.peer_prior": _number(0, 1),
    "autonomy.hop_limit": _whole(1, 50),
    "autonomy.floor_seconds": _number(0, 3_600),
    "autonomy.own_speech_seconds": _whole(0),
    "autonomy.others_speeches": _whole(0),
    "autonomy.speech_characters": _whole(1),
    "autonomy.shares.rules": _whole(0),
    "autonomy.shares.identity": _whole(0),
    "autonomy.shares.memory": _whole(0),
    "autonomy.shares.world": _whole(0),
    "autonomy.shares.recent": _whole(0),
    "trials.skill_percent": _whole(0, 100),
    "trials.memory_percent": _whole(0, 50),
    "trials.model_percent": _whole(0, 50),
    "trials.model_budget_percent": _whole(0, 100),
    "trials.candidates": _whole(1, 50),
    "trials.least_turns": _whole(10, 10_000),
    "trials.most_turns": _whole(30, 100_000),
    "trials.night_hour": _whole(0, 23),
    "trials.review_sessions": _whole(0, 100_000),
}

_INSTALLATION: dict[str, SettingRule] = {
    "workspace.deleted_versions_days": _whole(1, 3_650),
    "retention.calls_days": SettingRule(
        SettingKind.WHOLE,
        least=0,
        most=36_500,
        judge=lambda days: SettingProblem("calls_days") if 0 < days < 40 else None,  # noqa: PLR2004
    ),
    "backup.every": _text(
        pattern=r"([1-9][0-9]{0,4}[mhd])?", example='"30m" / "12h" / "1d"', judge=_interval
    ),
    "backup.keep": _whole(1),
    "backup.folder": _text(),
    "backup.with_secrets": _SWITCH,
    "database.path": _unchangeable(SettingKind.TEXT, "database", "data/opencrab.db"),
    "owner.name": _text(),
    "search.backend": _text(choices=("sqlite", "opensearch", "efs")),
    "search.opensearch_endpoint": _text(**_ADDRESS),
    "search.vectors": _SWITCH,
    "log.level": _text(choices=("DEBUG", "INFO", "WARNING", "ERROR")),
    "aws.night_functions": _unchangeable(SettingKind.WHOLE, "aws", 4),
    "aws.*": _unchangeable(SettingKind.TEXT, "aws", "", "main"),
}

RULES: Mapping[str, SettingRule] = {**_AGENTS, **_MODELS, **_GATEWAYS, **_INSTALLATION}
UNCHANGEABLE: Mapping[str, tuple[object, ...]] = {
    name: rule.fixed for name, rule in RULES.items() if rule.fixed and "*" not in name
}
"""Settings that have one value, and that value."""

_PATTERNS = tuple(name for name in RULES if "*" in name)

REFUSED: Mapping[str, str] = {"gateway.discord.agent_ids": "fixed_agent_ids"}
"""Settings that other versions of the design name and that there are none of, with the reason."""


def setting_rule(name: str) -> SettingRule | None:
    """Return the rule of a setting; None if there is no such setting."""
    if name in RULES:
        return RULES[name]
    parts = name.split(".")
    for pattern in _PATTERNS:
        if pattern.count(".") == len(parts) - 1 and fnmatchcase(name, pattern):
            return RULES[pattern]
    return None


def setting_rule_problem(name: str, value: object) -> SettingProblem:
    """Return what is wrong with a value that breaks the rule of its setting."""
    rule = setting_rule(name)
    return (rule and find_setting_problem(rule, value)) or SettingProblem("unknown")


def is_secret_setting(name: str) -> bool:
    """Check whether the value of a setting is a secret, also of one that does not exist."""
    rule = setting_rule(name)
    if rule is not None:
        return rule.kind is SettingKind.SECRET
    return SECRET_NAME.search(name.rpartition(".")[2].lower()) is not None
