"""The plan of an import: what becomes what, and what is lost."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from opencrab.domain.bundle.contents import AGENT, DOCUMENTS, FILE
from opencrab.engine.bundle.rows import TRUSTED_KINDS
from opencrab.gateways.cli.bundle.sending import OpenBundle, check_bundle_settings
from opencrab.gateways.cli.terminal.terminal import Terminal

_SESSION = "session"
_KINDS = {
    "agent": "bundle_kind_agent",
    "mind": "bundle_kind_mind",
    "memory": "bundle_kind_memory",
    "experience": "bundle_kind_experience",
    "impression": "bundle_kind_impression",
    "node": "bundle_kind_node",
    "edge": "bundle_kind_edge",
    "belief": "bundle_kind_belief",
    "peer": "bundle_kind_peer",
    "working": "bundle_kind_working",
    "skill": "bundle_kind_skill",
    "goal": "bundle_kind_goal",
    "plan": "bundle_kind_plan",
    "goal_order": "bundle_kind_goal_order",
    "schedule": "bundle_kind_schedule",
    "file": "bundle_kind_file",
    "session": "bundle_kind_session",
}
_NOTES = {
    "model_not_here": "bundle_note_model_not_here",
    "policy_not_here": "bundle_note_policy_not_here",
    "settings_of_strangers": "bundle_note_settings_of_strangers",
}
_LEFT_OUT = {
    "people": "bundle_left_people",
    "retired": "bundle_left_retired",
    "attached_folder": "bundle_left_attached_folder",
    "too_large": "bundle_left_too_large",
    "secret": "bundle_left_secret",
    "instructions": "bundle_left_instructions",
    "instructions_as_file": "bundle_left_instructions_as_file",
    "not_supported": "bundle_left_not_supported",
    "configuration": "bundle_left_configuration",
    "cut": "bundle_left_cut",
    "too_many": "bundle_left_too_many",
    "path": "bundle_left_path",
    "renamed": "bundle_left_renamed",
    "cut_to_file": "bundle_left_cut_to_file",
    "script": "bundle_left_script",
    "schedule": "bundle_left_schedule",
    "unreadable": "bundle_left_unreadable",
    "database": "bundle_left_database",
    "empty": "bundle_left_empty",
    "branch": "bundle_left_branch",
    "goal_as_memory": "bundle_left_goal_as_memory",
}
_WHAT = {
    "disabled entries of character_book": "bundle_what_disabled_entries",
    "custom instructions": "bundle_what_custom_instructions",
    "tool calls": "bundle_what_tool_calls",
    "hidden messages": "bundle_what_hidden_messages",
    "other branches": "bundle_what_other_branches",
    "pictures and other parts": "bundle_what_pictures_and_parts",
    "thoughts and tool calls": "bundle_what_thoughts_and_calls",
    "other parts of messages": "bundle_what_other_parts",
    "skills that were put away": "bundle_what_skills_put_away",
    "skills that come with Hermes": "bundle_what_hermes_skills",
    "conversations of scheduled jobs": "bundle_what_job_conversations",
    "messages that were withdrawn": "bundle_what_taken_back",
    "other agents": "bundle_what_other_agents",
    "messages of tools and system": "bundle_what_tool_messages",
    "messages of tool": "bundle_what_messages_of_tool",
    "messages of system": "bundle_what_messages_of_system",
    "standard skills": "bundle_what_standard_skills",
}
"""What readers of sources say is lost, beside names of files and fields."""

_UNTRUSTED = {
    AGENT: "bundle_becomes_prompt",
    "skill": "bundle_becomes_quarantined",
    "schedule": "bundle_becomes_off",
    **dict.fromkeys(TRUSTED_KINDS, "bundle_becomes_nothing"),
}


def plan_bundle_import(
    terminal: Terminal, bundle: OpenBundle, *, name: str, trusted: bool
) -> dict[str, Any]:
    """Return what an import of a bundle would do; the server is asked, nothing is written."""
    counts = Counter({AGENT: 1, **bundle.reader.check()})
    rows = [
        {"kind": kind, "count": counts[kind], "becomes": _becomes(kind, trusted=trusted)}
        for kind in (AGENT, *DOCUMENTS, FILE, _SESSION)
        if counts[kind]
    ]
    manifest = bundle.reader.manifest
    return {
        "name": name,
        "source": manifest.source,
        "trusted": trusted,
        "rows": rows,
        "notes": check_bundle_settings(terminal, bundle, name=name, trusted=trusted),
        "left_out": [each.model_dump() for each in manifest.left_out],
    }


def draw_import_plan(terminal: Terminal, plan: dict[str, Any]) -> None:
    """Draw a plan: a table of what becomes what, then what does not come along."""
    words = terminal.words
    rows = [
        (words(_KINDS[each["kind"]]), each["count"], words(each["becomes"]))
        for each in plan["rows"]
    ]
    if rows:
        terminal.table(("kind", "count", "becomes"), rows)
    for note in plan["notes"]:
        terminal.print_sentence(_NOTES[note])
    draw_left_out(terminal, plan["left_out"])


def draw_left_out(terminal: Terminal, left_out: Iterable[dict[str, Any]]) -> None:
    """Say what is not in a bundle, and why; a reason of a newer release as it is."""
    for each in left_out:
        sentence = _LEFT_OUT.get(each["why"])
        if sentence is None:
            terminal.line(f"{each['what']}: {each['why']} ({each['count']})")
        else:
            what = _WHAT.get(each["what"])
            terminal.print_sentence(
                sentence, **{**each, "what": terminal.words(what) if what else each["what"]}
            )


def _becomes(kind: str, *, trusted: bool) -> str:
    if kind == _SESSION:
        return "bundle_becomes_file"
    if trusted:
        return "bundle_becomes_same"
    return _UNTRUSTED.get(kind, "bundle_becomes_untrusted")
