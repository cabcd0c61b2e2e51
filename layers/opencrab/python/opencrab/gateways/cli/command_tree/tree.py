"""The commands of `opencrab`, in the order and under the headings of help."""

from opencrab.gateways.cli.command_tree.aliases import ALIASES
from opencrab.gateways.cli.command_tree.node import CommandNode

_DAILY = "help_daily"
_AGENTS = "help_agents"
_OPERATION = "help_operation"

_ADMIN = (
    CommandNode(
        "keys",
        "Create, list and revoke API keys.",
        commands=(
            CommandNode("create", runs="access.keys:create_key"),
            CommandNode("list", runs="access.keys:list_keys"),
            CommandNode("revoke", runs="access.keys:revoke_key"),
        ),
    ),
    CommandNode("backup", runs="backup.backup:create_backup"),
    CommandNode("restore", runs="backup.backup:restore"),
    CommandNode("verify", runs="backup.backup:verify_backup_command"),
    CommandNode(
        "discord",
        "Set up and check the Discord bot, and run the relay for ordinary messages.",
        table="discord.discord:COMMANDS",
    ),
    CommandNode("line", "Check the setup of LINE.", table="chat.line:COMMANDS"),
    CommandNode("slack", "Check the setup of Slack.", table="chat.slack:COMMANDS"),
    CommandNode("email", "Check the setup of e-mail.", table="chat.email:COMMANDS"),
    CommandNode("telegram", "Set up and check Telegram.", table="chat.telegram:COMMANDS"),
    CommandNode("seed", "Create agents from presets.", table="agents.presets:COMMANDS"),
    CommandNode(
        "simulate",
        "Simulate some hours of the preset agents, without a model.",
        runs="simulation.day:run_agent_simulation",
        table="simulation.day:COMMANDS",
    ),
)

_TREE = (
    CommandNode(
        "setup",
        "Choose provider, models, budget and a first agent, and test them; run it again to change.",
        "setup.setup:set_up",
        section=_DAILY,
    ),
    CommandNode(
        "up",
        "Run OpenCrab on this computer.",
        "server.up:run_server_on_this_computer",
        section=_DAILY,
    ),
    CommandNode(
        "open",
        "Open the page in a browser, signed in.",
        "access.sign_in:open_access_page",
        section=_DAILY,
    ),
    CommandNode(
        "chat",
        "Talk to an agent, in the last conversation with it; piped input is answered line by line.",
        "conversation.chat:chat",
        section=_DAILY,
    ),
    CommandNode(
        "agents",
        "List, create, show, edit and retire agents.",
        commands=(
            CommandNode("list", runs="agents.agents:list_agents"),
            CommandNode("create", runs="agents.agents:create_agent"),
            CommandNode("show", runs="agents.agents:show_agent"),
            CommandNode("edit", runs="agents.agents:edit_agent"),
            CommandNode("peers", runs="agents.peers:show_or_set_reach_of_agent"),
            CommandNode("sampling", runs="agents.sampling:show_or_set_sampling_of_agent"),
            CommandNode("promises", runs="agents.peers:list_promises"),
            CommandNode("retire", runs="agents.agents:retire_agent"),
            CommandNode("analytics", runs="insight.analytics:show_analytics"),
            CommandNode(
                "evaluate-persona", runs="agents.persona_evaluation:evaluate_agent_persona"
            ),
            CommandNode("export", runs="insight.export:export_insight_state"),
            CommandNode("bundle", runs="bundle.bundle:bundle_agent"),
            CommandNode("import", runs="bundle.bundle:import_agent"),
            CommandNode("import-from", runs="bundle.sources:import_from_source"),
            CommandNode("imports", runs="bundle.bundle:show_unfinished_imports"),
        ),
        section=_DAILY,
    ),
    CommandNode(
        "sessions",
        "List, show, share and end conversations (sessions).",
        commands=(
            CommandNode("list", runs="conversation.sessions:list_sessions"),
            CommandNode("show", runs="conversation.sessions:show_session"),
            CommandNode("outcome", runs="conversation.outcome:show_session_outcome"),
            CommandNode("rename", runs="conversation.sessions:rename_session"),
            CommandNode("end", runs="conversation.sessions:end_session"),
            CommandNode("invite", runs="conversation.sessions:invite_to_conversation"),
            CommandNode("uninvite", runs="conversation.sessions:uninvite_from_conversation"),
            CommandNode("speak-freely", runs="conversation.sessions:let_conversation_speak_freely"),
            CommandNode("mentor", runs="conversation.sessions:give_guidance_in_session"),
        ),
        section=_DAILY,
    ),
    CommandNode(
        "tasks",
        "Give an agent an instruction, watch it work, and steer it.",
        table="goals.tasks:COMMANDS",
        section=_DAILY,
    ),
    CommandNode(
        "memory",
        "Search, list, add and delete what an agent remembers.",
        table="memory.memory:COMMANDS",
        section=_DAILY,
    ),
    CommandNode(
        "models",
        "List models with their prices, list providers, compare models.",
        "models.models:list_models",
        commands=(
            CommandNode(
                "providers",
                "Add, change, remove and test model providers.",
                "models.models:list_model_providers",
                table="configuration.providers:COMMANDS",
            ),
            CommandNode(
                "aliases",
                "List and set aliases of models.",
                "configuration.choices:list_model_aliases",
                table="configuration.choices:ALIASES",
            ),
            CommandNode(
                "fallback",
                "Show and set who answers when a model fails.",
                "configuration.choices:show_model_fallback",
                table="configuration.choices:FALLBACK",
            ),
            CommandNode(
                "uses",
                "List and set the model of each use.",
                "configuration.choices:list_model_uses",
                table="configuration.choices:USES",
            ),
            CommandNode("compare", runs="learning.model_trial:run_learning_trial_of_models"),
            CommandNode("refresh-prices", runs="models.models:refresh_model_prices"),
        ),
        section=_DAILY,
    ),
    CommandNode(
        "costs",
        "Show what model calls cost; show and set budgets; estimate costs.",
        "usage.usage:show_usage_costs",
        commands=(
            CommandNode("budgets", runs="usage.usage:show_usage_budgets"),
            CommandNode("set-budget", runs="usage.budget_limits:set_limits_of_usage"),
            CommandNode("reset-budgets", runs="usage.budget_limits:reset_limits_of_usage"),
            CommandNode("reconcile", runs="usage.reconcile:reconcile_usage_costs"),
            CommandNode("what-if", runs="insight.what_if:what_if"),
            CommandNode("estimate-aws", runs="usage.aws_cost:estimate_aws_usage"),
        ),
        section=_DAILY,
    ),
    CommandNode(
        "approvals",
        "See and decide approvals; grant permission in advance.",
        "approvals.approvals:list_approvals",
        table="approvals.approvals:COMMANDS",
        section=_DAILY,
    ),
    CommandNode(
        "watch",
        "Watch an agent live: chat, cli, plan, inspector and vitals; or a session.",
        "insight.live_panes:watch_insight_panes",
        section=_DAILY,
    ),
    CommandNode(
        "config",
        "Show, change and check settings.",
        commands=(
            CommandNode("show", runs="configuration.settings:show_configuration_in_effect"),
            CommandNode("get", runs="configuration.files:get_setting"),
            CommandNode("set", runs="configuration.files:set_setting"),
            CommandNode("unset", runs="configuration.files:unset_setting"),
            CommandNode("edit", runs="configuration.files:edit_settings"),
            CommandNode("check", runs="configuration.files:check_settings"),
            CommandNode("diff", runs="configuration.files:show_settings_difference"),
            CommandNode("path", runs="configuration.files:show_settings_paths"),
            CommandNode("push", runs="configuration.deployed:push_settings"),
            CommandNode("pull", runs="configuration.deployed:pull_settings"),
            CommandNode("versions", runs="configuration.deployed:list_settings_versions"),
            CommandNode("setup", runs="setup.setup:set_up", hidden=True),
            CommandNode("schema", runs="configuration.files:print_settings_schema"),
        ),
        section=_DAILY,
    ),
    CommandNode(
        "doctor",
        "Check the installation, and say how to fix what does not work.",
        "doctor.doctor:doctor",
        section=_DAILY,
    ),
    CommandNode(
        "goals",
        "See an agent's goals and their reasons; add and abandon goals.",
        table="goals.goals:COMMANDS",
        section=_AGENTS,
    ),
    CommandNode(
        "schedules",
        "Give an agent instructions for set times; pause, run and delete them.",
        table="autonomy.schedules:COMMANDS",
        section=_AGENTS,
    ),
    CommandNode(
        "heartbeats",
        "Show and set how agents act on their own.",
        table="autonomy.heartbeats:COMMANDS",
        section=_AGENTS,
    ),
    CommandNode(
        "world",
        "Show an agent's world, bind agents to worlds, trust a world; run the demo world.",
        table="world.world:COMMANDS",
        section=_AGENTS,
    ),
    CommandNode(
        "skills",
        "See an agent's skills; add, approve, switch and retire them.",
        table="skills.skills:COMMANDS",
        section=_AGENTS,
    ),
    CommandNode(
        "mcp",
        "Use MCP servers, and serve MCP clients.",
        commands=(
            CommandNode("add", runs="configuration.mcp_servers:add_mcp_server"),
            CommandNode("add-agent", runs="configuration.mcp_servers:add_peer_elsewhere"),
            CommandNode("list", runs="mcp.tools:list_mcp_servers"),
            CommandNode("test", runs="mcp.tools:test_mcp_server"),
            CommandNode("trust", runs="mcp.tools:trust_mcp_tool"),
            CommandNode("login", runs="mcp.sign_in:sign_in_at_mcp_server"),
            CommandNode("logout", runs="mcp.sign_in:sign_out_of_mcp_server"),
            CommandNode("remove", runs="configuration.mcp_servers:remove_mcp_server"),
            CommandNode("serve", runs="mcp.stdio_server:serve_mcp"),
        ),
        section=_AGENTS,
    ),
    CommandNode(
        "webhooks",
        "Add, list, try, rotate and remove webhooks, by which other programs reach agents.",
        commands=(
            CommandNode("add", runs="webhooks.webhooks:add_webhook"),
            CommandNode("list", runs="webhooks.webhooks:list_webhooks"),
            CommandNode("test", runs="webhooks.webhooks:try_webhook"),
            CommandNode("rotate", runs="webhooks.webhooks:rotate_webhook"),
            CommandNode("remove", runs="webhooks.webhooks:remove_webhook"),
            CommandNode(
                "events",
                "Post events of agents to other programs.",
                table="webhooks.events:COMMANDS",
            ),
        ),
        section=_AGENTS,
    ),
    CommandNode(
        "workspace",
        "List, read, write, download, upload and delete an agent's files.",
        commands=(
            CommandNode("list", runs="workspace.workspace:list_files"),
            CommandNode("read", runs="workspace.workspace:read_file"),
            CommandNode("write", runs="workspace.workspace:write_file"),
            CommandNode("get", runs="workspace.workspace:get_file"),
            CommandNode("put", runs="workspace.workspace:put_file"),
            CommandNode("delete", runs="workspace.workspace:delete_file"),
            CommandNode("versions", runs="workspace.workspace:list_workspace_file_versions"),
            CommandNode(
                "delete-versions", runs="workspace.workspace:delete_workspace_file_versions"
            ),
        ),
        section=_AGENTS,
    ),
    CommandNode(
        "turns",
        "List turns, show one step by step, stop it, rate it.",
        commands=(
            CommandNode("list", runs="conversation.turns:list_conversation_turns"),
            CommandNode("show", runs="conversation.turns:show_turn_of_session"),
            CommandNode("cancel", runs="conversation.turns:cancel_conversation_turn"),
            CommandNode("rate", runs="learning.feedback:give_learning_feedback"),
            CommandNode(
                "decide",
                runs="conversation.turns:decide_conversation_turn",
                hidden=True,
                replaced_by="approvals approve",
            ),
        ),
        section=_AGENTS,
    ),
    CommandNode(
        "learning",
        "See and steer experiments and changes; run the evaluation now.",
        table="learning.steering:COMMANDS",
        section=_AGENTS,
    ),
    CommandNode(
        "freeze",
        "Stop all agents, or one, before the next step, queued work included.",
        "money.freeze:freeze",
        section=_OPERATION,
    ),
    CommandNode(
        "unfreeze", "Unfreeze all agents, or one.", "money.freeze:unfreeze", section=_OPERATION
    ),
    CommandNode(
        "admin",
        "API keys, backups, Discord, preset agents, simulation.",
        commands=_ADMIN,
        section=_OPERATION,
    ),
    CommandNode(
        "service",
        "Run OpenCrab in the background with systemd or launchd.",
        table="server.init_system:COMMANDS",
        section=_OPERATION,
    ),
    CommandNode(
        "upgrade",
        "Bring the data folder to this version: check, back up, migrate, check again.",
        "backup.upgrade:upgrade_data_folder",
        section=_OPERATION,
    ),
    CommandNode(
        "completion",
        "Print a script that completes commands, options and agents in your shell.",
        "completion.completion:print_completion",
        section=_OPERATION,
    ),
)

ROOT = CommandNode(
    "opencrab",
    "Autonomous agents on your own computer or on serverless AWS.",
    commands=(*_TREE, *ALIASES),
)
