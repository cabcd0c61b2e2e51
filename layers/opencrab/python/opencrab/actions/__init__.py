"""The actions of agents: one module per group, one function per action."""

from opencrab.actions.registry import Group, LazyGroup, Registry

GROUPS: tuple[Group, ...] = (
    LazyGroup(
        "speech",
        "speech",
        "send_speech send_noreact generate_inner_voice declare_done update_impression",
    ),
    LazyGroup(
        "discussing",
        "discussion_outcome",
        "broadcast_guidance set_phase write_outcome answer_task",
    ),
    LazyGroup("finding", "action_search", "find_actions use_action"),
    LazyGroup(
        "workspace",
        "workspace.write",
        "ws_read ws_list ws_write ws_edit ws_delete ws_mkdir",
    ),
    LazyGroup(
        "learning",
        "skills.learning",
        "learn_from_experience learn_from_peer reflect_and_learn create_my_skill retire_my_skill "
        "restore_my_skill use_skill",
    ),
    LazyGroup(
        "recall",
        "memory.recall",
        "search_my_history summarize_and_save save_memory forget_memory",
    ),
    LazyGroup("history", "memory.history", "browse_history"),
    LazyGroup(
        "inner",
        "memory.beliefs_and_notes",
        "form_belief test_belief note_working_memory link_knowledge rate_peer",
    ),
    LazyGroup(
        "planning",
        "goals.promises",
        "set_purpose add_goal plan_goal start_task finish_task fail_task report withdraw_promise",
    ),
    LazyGroup(
        "vault",
        "vault.edit",
        "search_notes read_note get_vault_structure create_note apply_template update_note "
        "create_link rename_note",
    ),
    LazyGroup(
        "peers", "peers.message", "list_peers talk_to_peer invite_to_discussion send_message"
    ),
    LazyGroup("notices", "peers.board", "ask_for_help offer read_notices"),
    LazyGroup("web", "web", "web_fetch web_search"),
    LazyGroup("llm", "models.select", "select_llm get_available_models get_current_llm_config"),
    LazyGroup(
        "meta",
        "models.optimize",
        "evaluate_response analyze_llm_usage get_llm_metrics compare_models "
        "recall_model_experiences save_model_insight optimize_model_selection",
    ),
    LazyGroup("world", "world", "world_messages world_send"),
)
"""All groups; an action that is in none of them is not registered.

Each names its actions, so that its module loads with the first of them that is asked for.
"""

__all__ = ["GROUPS", "Group", "Registry"]
