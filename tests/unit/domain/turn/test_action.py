"""Actions as values: which impacts ask a human first, and what a result carries."""

import pytest
from pydantic import ValidationError

from opencrab.domain.access.impact import Impact
from opencrab.domain.approvals.policy import ApprovalPolicy, needs_approval
from opencrab.domain.turn.action import ActionResult, InnerVoiceNoted, SpeechSent

UNASKED = {
    ApprovalPolicy.STRICT: {Impact.SPEECH},
    ApprovalPolicy.GUARDED: {Impact.SPEECH, Impact.READ, Impact.SELF},
    ApprovalPolicy.OPEN: {Impact.SPEECH, Impact.READ, Impact.SELF, Impact.SHARED},
}


@pytest.mark.parametrize("policy", ApprovalPolicy)
@pytest.mark.parametrize("impact", Impact)
def test_a_policy_names_the_impacts_that_run_unasked(
    policy: ApprovalPolicy, impact: Impact
) -> None:
    assert needs_approval("ws_write", impact, policy, tainted=False) is (
        impact not in UNASKED[policy]
    )


@pytest.mark.parametrize("policy", ApprovalPolicy)
@pytest.mark.parametrize("impact", [Impact.SHARED, Impact.EXTERNAL])
def test_a_tainted_turn_asks_before_it_touches_others_under_any_policy(
    policy: ApprovalPolicy, impact: Impact
) -> None:
    assert needs_approval("ws_write", impact, policy, tainted=True)


@pytest.mark.parametrize("policy", ApprovalPolicy)
@pytest.mark.parametrize("impact", [Impact.SPEECH, Impact.READ, Impact.SELF])
def test_taint_changes_nothing_about_what_stays_with_the_agent(
    policy: ApprovalPolicy, impact: Impact
) -> None:
    untainted = needs_approval("ws_write", impact, policy, tainted=False)
    assert needs_approval("ws_write", impact, policy, tainted=True) is untainted


@pytest.mark.parametrize("impact", Impact)
def test_a_list_names_impacts_and_actions_that_run_unasked(impact: Impact) -> None:
    policy = ("read", "ws_write")
    unasked = {Impact.SPEECH, Impact.READ}
    assert needs_approval("web_fetch", impact, policy, tainted=False) is (impact not in unasked)
    assert not needs_approval("ws_write", impact, policy, tainted=False)
    guarded = impact in {Impact.SHARED, Impact.EXTERNAL}
    assert needs_approval("ws_write", impact, policy, tainted=True) is guarded


def test_a_success_carries_data_and_side_effects() -> None:
    result = ActionResult.ok(SpeechSent(text="こんにちは"), InnerVoiceNoted(text="hm"), said=True)
    assert (result.success, result.data, result.error) == (True, {"said": True}, None)
    assert [effect.kind for effect in result.side_effects] == ["spoke", "mused"]


def test_a_failure_says_why() -> None:
    result = ActionResult.failure("ファイルがありません")
    assert (result.success, result.data, result.error) == (False, None, "ファイルがありません")


def test_a_result_comes_back_from_its_stored_form() -> None:
    result = ActionResult.ok(SpeechSent(text="海 🦀"), path="メモ.md")
    assert ActionResult.model_validate_json(result.model_dump_json()) == result


def test_an_unknown_side_effect_is_none() -> None:
    with pytest.raises(ValidationError, match="side_effects"):
        ActionResult.model_validate({"success": True, "side_effects": [{"kind": "exploded"}]})
