"""The modules of the REST interface and the paths of their routes, so that each loads when used.

Of routes that fit a path the first answers. A test compares them.
"""

from collections.abc import Mapping

PARTS: Mapping[str, tuple[str, ...]] = {
    "agents.agents": (
        "/api/agents",
        "/api/agents/{agent_id}",
        "/api/agents/{agent_id}/soul",
        "/api/agents/{agent_id}/identity",
    ),
    "agents.models": (
        "/api/agents/{agent_id}/llm/config",
        "/api/agents/{agent_id}/llm/metrics",
        "/api/agents/{agent_id}/llm/metrics/summary",
        "/api/agents/{agent_id}/llm/summary",
    ),
    "agents.soul_preview": (
        "/api/agents/{agent_id}/soul/preview",
        "/api/agents/{agent_id}/soul/sample",
    ),
    "agents.trait_comparison": ("/api/agents/{agent_id}/soul/trait-pair",),
    "agents.templates": (
        "/api/presets",
        "/api/presets/card",
    ),
    "peers.policy": ("/api/agents/{agent_id}/peer-policy",),
    "skills.skills": (
        "/api/agents/{agent_id}/skills",
        "/api/agents/{agent_id}/skills/{skill}",
        "/api/agents/{agent_id}/skills/{skill}/toggle",
        "/api/agents/{agent_id}/skills/{skill}/approve",
        "/api/agents/{agent_id}/skills/{skill}/restore",
    ),
    "workspace.workspace": (
        "/api/agents/{agent_id}/workspace",
        "/api/agents/{agent_id}/workspace/{path:path}",
        "/api/agents/{agent_id}/workspace-versions/{path:path}",
    ),
    "workspace.attached_folders": (
        "/api/agents/{agent_id}/folders",
        "/api/agents/{agent_id}/folders/{place}",
    ),
    "memory.curation": (
        "/api/agents/{agent_id}/memory/curated",
        "/api/agents/{agent_id}/memory/curated/{memory_id}",
    ),
    "memory.archive": (
        "/api/agents/{agent_id}/memory/export",
        "/api/agents/{agent_id}/memory/import",
    ),
    "bundle.exports": ("/api/agents/{agent_id}/bundle",),
    "bundle.imports": (
        "/api/agent-imports",
        "/api/agent-imports/{import_id}/finish",
        "/api/agent-imports/{import_id}",
    ),
    "bundle.import_parts": (
        "/api/agent-imports/{import_id}/parts/{number}",
        "/api/agent-imports/{import_id}/files/{path:path}",
    ),
    "memory.search": ("/api/agents/{agent_id}/memory/search",),
    "memory.logs": (
        "/api/agents/{agent_id}/memory/sessions",
        "/api/agents/{agent_id}/memory/sessions/{session_id}",
    ),
    "memory.views": (
        "/api/agents/{agent_id}/memory/impressions",
        "/api/agents/{agent_id}/memory/impressions/{person_id}",
        "/api/agents/{agent_id}/memory/graph",
        "/api/agents/{agent_id}/memory/experiences",
        "/api/agents/{agent_id}/memory/summaries",
        "/api/agents/{agent_id}/memory/summaries/{summary_id}",
    ),
    "memory.status": (
        "/api/agents/{agent_id}/memory/status",
        "/api/agents/{agent_id}/memory/summaries/retry",
    ),
    "memory.erasure": (
        "/api/agents/{agent_id}/memory/forget",
        "/api/agents/{agent_id}/memory/forget/preview",
    ),
    "memory.beliefs_and_peers": (
        "/api/agents/{agent_id}/beliefs",
        "/api/agents/{agent_id}/beliefs/{belief_id}",
        "/api/agents/{agent_id}/peers",
        "/api/agents/{agent_id}/peers/{peer_id}",
        "/api/agents/{agent_id}/experiences",
        "/api/agents/{agent_id}/working-memory",
    ),
    "conversation.sessions": (
        "/api/sessions",
        "/api/sessions/{session_id}",
        "/api/sessions/{session_id}/speak-freely",
        "/api/sessions/{session_id}/end",
        "/api/sessions/{session_id}/mentor",
        "/api/sessions/{session_id}/members/{principal_id}",
    ),
    "discussion.balance": ("/api/sessions/{session_id}/fairness",),
    "discussion.outcome": ("/api/sessions/{session_id}/outcome",),
    "discussion.promises": ("/api/agents/{agent_id}/promises",),
    "conversation.messages": ("/api/sessions/{session_id}/messages",),
    "openai.models": (
        "/v1/models",
        "/v1/models/{model}",
    ),
    "openai.chat": ("/v1/chat/completions",),
    "openai.responses": (
        "/v1/responses",
        "/v1/responses/{response_id}",
        "/v1/responses/{response_id}/cancel",
    ),
    "openai.embeddings": ("/v1/embeddings",),
    "conversation.uploads": ("/api/sessions/{session_id}/uploads",),
    "conversation.websocket": (
        "/api/tickets",
        "/ws",
    ),
    "conversation.server_sent_events": ("/api/sessions/{session_id}/events",),
    "conversation.turns": (
        "/api/turns",
        "/api/turns/{turn_id}",
        "/api/turns/{turn_id}/cancel",
        "/api/turns/{turn_id}/decide",
    ),
    "goals.tasks": (
        "/api/agents/{agent_id}/tasks",
        "/api/agents/{agent_id}/tasks/{task_id}",
        "/api/agents/{agent_id}/tasks/{task_id}/cancel",
        "/api/agents/{agent_id}/tasks/{task_id}/discard",
        "/api/agents/{agent_id}/tasks/{task_id}/pause",
        "/api/agents/{agent_id}/tasks/{task_id}/resume",
        "/api/agents/{agent_id}/tasks/{task_id}/steer",
    ),
    "goals.task_events": ("/api/agents/{agent_id}/tasks/{task_id}/events",),
    "goals.goals": (
        "/api/agents/{agent_id}/purpose",
        "/api/agents/{agent_id}/goals",
        "/api/agents/{agent_id}/goals/{goal_id}/abandon",
        "/api/agents/{agent_id}/goals/{goal_id}",
    ),
    "goals.goal_order": ("/api/agents/{agent_id}/goal-order",),
    "goals.plans": (
        "/api/agents/{agent_id}/plan",
        "/api/agents/{agent_id}/plans",
    ),
    "autonomy.schedules": (
        "/api/agents/{agent_id}/schedules",
        "/api/agents/{agent_id}/schedules/{schedule_id}",
        "/api/agents/{agent_id}/schedules/{schedule_id}/run",
    ),
    "autonomy.heartbeats": (
        "/api/agents/{agent_id}/heartbeat",
        "/api/agents/{agent_id}/instruction-plan",
        "/api/agents/{agent_id}/heartbeats",
        "/api/agents/{agent_id}/status",
    ),
    "autonomy.events": (
        "/api/agents/{agent_id}/events",
        "/api/agents/{agent_id}/received-events",
    ),
    "insight.views": (
        "/api/agents/{agent_id}/state",
        "/api/agents/{agent_id}/events",
        "/api/agents/{agent_id}/vitals",
        "/api/agents/{agent_id}/panes",
    ),
    "learning.feedback": ("/api/turns/{turn_id}/feedback",),
    "approvals.approvals": (
        "/api/approvals",
        "/api/approvals/{approval_id}",
        "/api/approvals/{approval_id}/decide",
        "/api/approvals/{approval_id}/link",
    ),
    "approvals.signed_link": ("/approve",),
    "approvals.grants": (
        "/api/agents/{agent_id}/grants",
        "/api/agents/{agent_id}/grants/{grant_id}",
    ),
    "models.providers": (
        "/api/llm/providers",
        "/api/llm/providers/{name}",
        "/api/llm/providers/{name}/health",
    ),
    "skills.actions": ("/api/actions",),
    "mcp.servers": (
        "/api/mcp/servers",
        "/api/mcp/servers/{server}",
        "/api/mcp/servers/{server}/sign-in",
        "/api/mcp/servers/{server}/tools",
        "/api/mcp/servers/{server}/tools/{tool}",
    ),
    "mcp.endpoint": ("/mcp",),
    "a2a.card": (
        "/.well-known/agent-card.json",
        "/a2a/{agent}/.well-known/agent-card.json",
    ),
    "a2a.endpoint": ("/a2a/{agent}",),
    "ag_ui.endpoint": ("/ag-ui/{agent}",),
    "models.models": (
        "/api/llm/models",
        "/api/llm/prices",
        "/api/llm/aliases",
        "/api/llm/fallback",
    ),
    "usage.costs": ("/api/costs/explain",),
    "usage.reconciliation": (
        "/api/costs/unconfirmed",
        "/api/costs/reconcile",
    ),
    "money.budgets": ("/api/budgets",),
    "access.api_keys": (
        "/api/keys",
        "/api/keys/current",
        "/api/keys/{key_id}",
    ),
    "installation.status": (
        "/api/health",
        "/api/setup",
        "/api/system/state",
        "/api/openapi.json",
    ),
    "installation.checks": ("/api/system/checks",),
    "installation.settings": ("/api/settings",),
    "discord.setup": (
        "/api/discord",
        "/api/discord/commands",
        "/api/discord/invite",
        "/api/discord/presences",
        "/api/agents/{agent_id}/discord",
        "/api/discord/messages",
        "/api/discord/reactions",
    ),
    "chat.setup": ("/api/chats/{kind}", "/api/chats/telegram/webhook"),
    "discord.interactions": ("/discord/interactions",),
    "webhooks.webhooks": (
        "/api/webhooks",
        "/api/webhooks/{name}",
        "/api/webhooks/{name}/rotate",
        "/api/webhooks/{name}/test",
    ),
    "webhooks.subscriptions": (
        "/api/webhook-events",
        "/api/webhook-events/{name}",
        "/api/webhook-events/{name}/rotate",
        "/api/webhook-events/{name}/test",
    ),
    "webhooks.door": (
        "/webhooks/{name}",
        "/channels/{kind}",
    ),
    "world.binding": (
        "/api/agents/{agent_id}/world",
        "/api/agents/{agent_id}/world/policy",
    ),
    "world.connection": ("/worlds",),
    "insight.analytics": (
        "/api/agents/{agent_id}/analytics/usage",
        "/api/agents/{agent_id}/analytics/skills",
        "/api/agents/{agent_id}/analytics/llm",
        "/api/agents/{agent_id}/analytics/memory",
    ),
    "learning.experiments": (
        "/api/agents/{agent_id}/experiments",
        "/api/agents/{agent_id}/experiments/{subject}/stop",
        "/api/agents/{agent_id}/experiments/{subject}/pin",
        "/api/agents/{agent_id}/experiments/{subject}/unpin",
    ),
    "learning.changes": (
        "/api/agents/{agent_id}/changes",
        "/api/agents/{agent_id}/changes/{change_id}",
        "/api/agents/{agent_id}/changes/{change_id}/undo",
        "/api/agents/{agent_id}/changes/{change_id}/apply",
        "/api/agents/{agent_id}/meta/runs",
    ),
    "insight.what_if": ("/api/agents/{agent_id}/whatif",),
    "access.sign_in": (
        "/api/sign-in",
        "/api/sign-in/codes",
    ),
}

PARTS_OF_PROTOCOLS: Mapping[str, tuple[str, ...]] = {
    "a2a": ("a2a.card", "a2a.endpoint"),
    "ag_ui": ("ag_ui.endpoint",),
}
"""Parts that an application has only if the settings turn their protocol on."""
