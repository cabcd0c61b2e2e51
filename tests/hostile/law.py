"""The law of the hostile world: what each call touches and who may cause it, said once more.

Nothing here is asked of the product; the watcher judges the product by it.
"""

import json
import unicodedata
from typing import Any

from opencrab.domain.access.authority import Authority
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.identifier import content_hash
from opencrab.ports.turn.action import Action, ActionContext

STEPS = 5
"""Answers of a model that one turn may have."""

READING = frozenset(
    [
        "ws_read",
        "ws_list",
        "search_my_history",
        "browse_history",
        "use_skill",
        "find_actions",
        "use_action",
        "search_notes",
        "read_note",
        "get_vault_structure",
        "get_available_models",
        "get_current_llm_config",
        "analyze_llm_usage",
        "get_llm_metrics",
        "compare_models",
        "recall_model_experiences",
        "web_fetch",
        "world_messages",
        "list_peers",
        "read_notices",
    ]
)
SPEAKING = frozenset(
    [
        "send_speech",
        "send_noreact",
        "generate_inner_voice",
        "declare_done",
        "report",
        "broadcast_guidance",
        "set_phase",
        "write_outcome",
    ]
)
SHARING, REACHING = (
    frozenset({"ring_gong", "pin_note"}),
    frozenset({"publish_page", "web_search", "world_send"}),
)
AGENTS_OR_OWNER = frozenset({"owner_sessions", "agents"})
"""Where only agents and the owner read; nobody owns these agents, so no other place is such."""

FOR_PEERS = frozenset({"learn_from_peer", "update_impression", "rate_peer", "answer_task"})
"""Said here once more, and not asked of the product."""

OUTSIDERS = frozenset({Authority.PUBLIC, Authority.PEER})
INSIDERS = frozenset({Authority.OWNER, Authority.SELF})
LOOKING = frozenset({"browse_history", "search_my_history", "recall_model_experiences"})
"""Who may hear of every session of the agent, and by which actions."""

BESIDE = frozenset({"turn", "approval", "decided_approval", "grant", "signals"})
OF_PEERS = BESIDE | {
    "skill",
    "skill_readers",
    # A skill has a file: who may read it, and that a stranger may have named it.
    "file_readers",
    "foreign_name",
    "mind",
    "experience",
    "impression",
    "peer",
    "outlook",
    # What came of a discussion; the turn that sums it up is a peer's, like the discussion's others.
    "discussion_outcome",
}
UNASKED = {
    ApprovalPolicy.STRICT: {"speech"},
    ApprovalPolicy.GUARDED: {"speech", "read", "self"},
    ApprovalPolicy.OPEN: {"speech", "read", "self", "shared"},
}


def impact_of(name: str, arguments: Any) -> str:
    """What a call touches, by this module's own lists; a page is judged when it is asked for."""
    if name in SPEAKING:
        return "speech"
    if name in READING:
        return "read"
    if name == "pinch" and arguments.level > 1:
        return "external"
    if name == "send_message":
        return "self" if arguments.to.strip() in AGENTS_OR_OWNER else "shared"
    return "shared" if name in SHARING else "external" if name in REACHING else "self"


def called_name(call: Any) -> str:
    """The action that a call is about."""
    if call.name == "use_action" and call.arguments is not None:
        return str(call.arguments.get("name", ""))
    return str(call.name)


def fingerprint(call: Any) -> str:
    """A call's name and arguments as one hash, whatever else came with it."""
    if call is None:
        return ""
    told = json.dumps([call.name, call.arguments], sort_keys=True, ensure_ascii=False)
    return content_hash(told.encode())


def is_same(action: Action, call: Any, arguments: Any) -> bool:
    """Whether an action runs with what the stored call says."""
    given = call.arguments
    if call.name == "use_action" and given is not None:
        given = given.get("arguments", {})
    if called_name(call)[:100] != action.name or given is None:
        return False
    return bool(action.arguments.model_validate(given) == arguments)


def runs_unasked(policy: Any, name: str, impact: str) -> bool:
    if isinstance(policy, ApprovalPolicy):
        return impact in UNASKED[policy]
    return impact == "speech" or bool({name, impact} & set(policy))


def is_granted(
    grants: list[Any], action: Action, impact: str, arguments: Any, context: ActionContext
) -> bool:
    """Whether an owner gave leave beforehand for such a call of this agent."""
    now = context.clock.now()
    touches = (action.touches(arguments),) if action.touches else ()
    targets = context.targets or touches
    counted = {impact, "external"} if action.name == "web_fetch" else {impact}
    return any(
        grant.agent_id == context.agent.id
        and (action.name in grant.actions or counted & {i.value for i in grant.impacts})
        and now < grant.until
        and (not grant.touches or targets)
        and all(each.startswith(grant.touches) for each in targets)
        for grant in grants
    )


def is_normal(path: str) -> bool:
    parts = path.split("/")
    clean = unicodedata.normalize("NFC", path) == path and "\\" not in path and ":" not in path
    return clean and bool(path) and not {"", ".", ".."} & set(parts)
