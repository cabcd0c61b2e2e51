"""Names that commands had before 0.2, which work for one version and are not in help.

Everything that a command line of then says works as then. A person, not a script, is told the name
of today.
"""

from opencrab.gateways.cli.command_tree.node import CommandNode


def _alias(name: str, now: str, runs: str = "", table: str = "") -> CommandNode:
    return CommandNode(name, runs=runs, table=table, hidden=True, replaced_by=now)


def _short(name: str, runs: str, table: str = "") -> CommandNode:
    """Return a shorter way to a command of a group, which is no older name and stays."""
    return CommandNode(name, runs=runs, table=table, hidden=True)


def _group(name: str, *commands: CommandNode) -> CommandNode:
    return CommandNode(name, commands=commands, hidden=True)


ALIASES = (
    _short("status", "doctor.doctor:doctor"),
    _group("actions", _short("list", "skills.actions:list_actions")),
    _group("peers", _short("add", "configuration.mcp_servers:add_peer_elsewhere")),
    _alias("task", "tasks", table="goals.tasks:COMMANDS"),
    _short("providers", "models.models:list_model_providers", "configuration.providers:COMMANDS"),
    _short("aliases", "configuration.choices:list_model_aliases", "configuration.choices:ALIASES"),
    _short(
        "fallback", "configuration.choices:show_model_fallback", "configuration.choices:FALLBACK"
    ),
    _short("import", "bundle.sources:import_from_source"),
    _short("uses", "configuration.choices:list_model_uses", "configuration.choices:USES"),
    _alias("budgets", "costs budgets", "usage.usage:show_usage_budgets"),
    _alias("mentor", "sessions mentor", "conversation.sessions:give_guidance_in_session"),
    _alias("feedback", "turns rate", "learning.feedback:give_learning_feedback"),
    _alias("analytics", "agents analytics", "insight.analytics:show_analytics"),
    _alias("experiments", "learning experiments", "learning.learning:show_learning_experiments"),
    _alias("changes", "learning changes", "learning.learning:show_learned_changes"),
    _alias("whatif", "costs what-if", "insight.what_if:what_if"),
    _alias("backup", "admin backup", "backup.backup:create_backup"),
    _alias("restore", "admin restore", "backup.backup:restore"),
    _alias("verify", "admin verify", "backup.backup:verify_backup_command"),
    _alias("discord", "admin discord", table="discord.discord:COMMANDS"),
    _alias("seed", "admin seed", table="agents.presets:COMMANDS"),
    _alias(
        "simulate",
        "admin simulate",
        "simulation.day:run_agent_simulation",
        "simulation.day:COMMANDS",
    ),
    _group("export", _alias("state", "agents export", "insight.export:export_insight_state")),
    _group("meta", _alias("run", "learning run", "learning.learning:run_learning_review")),
    _group(
        "eval",
        _alias("models", "models compare", "learning.model_trial:run_learning_trial_of_models"),
        # Whoever knows the other one tries this.
        _alias(
            "persona", "agents evaluate-persona", "agents.persona_evaluation:evaluate_agent_persona"
        ),
    ),
    _group("cost", _alias("estimate", "costs estimate-aws", "usage.aws_cost:estimate_aws_usage")),
    _group(
        "keys",
        _alias("create", "admin keys create", "access.keys:create_key"),
        _alias("list", "admin keys list", "access.keys:list_keys"),
        _alias("revoke", "admin keys revoke", "access.keys:revoke_key"),
    ),
)
