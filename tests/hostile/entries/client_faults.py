"""Bugs seeded in what MCP, A2A and OpenAI's API ask of keys."""

from tests.hostile.entries.guard import Guard

_REST = "opencrab.gateways.rest"

CLIENT_GUARDS = (
    Guard(
        "RevokedHearAnswers",
        f"{_REST}.openai.answer",
        "await run_in_threadpool(answer.require_hearer, key_hash)",
        "await run_in_threadpool(answer.tool_calls)",
        "a key that was revoked while it waited is told the answer",
    ),
    Guard(
        "UnsharedHearAnswers",
        f"{_REST}.openai.answer",
        "require_access_to_turn(home, who, self.turn)",
        "who.require(who.scope)",
        "whoever waits hears an answer in a session that is not shared any more",
    ),
    Guard(
        "StreamsGoOn",
        f"{_REST}.openai.stream",
        "if not await run_in_threadpool(self._is_heard_by, key_hash):",
        "if not key_hash:",
        "a stream goes on after its key was revoked",
    ),
    Guard(
        "RevokedHearTools",
        f"{_REST}.mcp.tools",
        "holder = await run_in_threadpool(conversation_connection_holder, keys, key_hash)",
        "holder = keys and key_hash and called.caller.principal",
        "an MCP client whose key was revoked while it waited is told the answer",
    ),
    Guard(
        "UnsharedHearTools",
        f"{_REST}.mcp.asking",
        "await run_in_threadpool(_require_access, called, replies.turns)",
        "await run_in_threadpool(replies.look)",
        "an MCP client hears an answer in a session that is not shared any more",
    ),
    Guard(
        "McpSessionsOfAll",
        f"{_REST}.mcp.sessions",
        "if not hmac.compare_digest(signature.encode(), _signature(random, caller).encode()):",
        "if not signature:",
        "a key goes on in the MCP session of another",
    ),
    Guard(
        "TasksOfAll",
        f"{_REST}.a2a.tasks",
        "require_access_to_turn(asked.runtime.home, asked.caller.principal, turn, verb)",
        "str(verb)",
        "whoever knows its id reads the task of another key",
    ),
    Guard(
        "ContextsOfAll",
        f"{_REST}.a2a.sending",
        "session, _ = require_access_to_session(runtime.home, who, session_id, Verb.TAKE_PART)",
        "session = runtime.home.sessions.get(session_id)",
        "whoever knows its id speaks in a context of others",
    ),
    Guard(
        "ResponsesOfAll",
        f"{_REST}.openai.responses",
        "require_access_to_turn(runtime.home, caller.principal, turn, verb)",
        "str(verb)",
        "whoever knows its id reads the response to another key",
    ),
    Guard(
        "ResultsOfAll",
        f"{_REST}.openai.client_admission",
        "if (turn.principal_id, turn.agent_id) != (who.id, conversation.agent.agent.id):",
        "if turn.agent_id != conversation.agent.agent.id:",
        "a turn goes on with results that somebody else brought",
    ),
    Guard(
        "RevokedKeysLive",
        "opencrab.engine.access.api_keys",
        "if key is None or key.revoked_at is not None: raise Unauthenticated(",
        "if key is None:\n        raise Unauthenticated(",
        "a key that was revoked is served",
    ),
    Guard(
        "DecidedByAll",
        "opencrab.engine.approvals.approvals",
        "require_approval_decider(approval, agent, who, now) require_shown_approval(",
        "require_shown_approval(",
        "whoever may read a session decides what its agents wait for",
    ),
)
"""Not in here, as no hunt has caught them: a response that readers cancel, other results of a call
taken for the same, repeats that another key joins, decisions without the hash of the call, and
lists of approvals for all.
"""
