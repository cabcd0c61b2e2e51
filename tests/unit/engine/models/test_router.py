"""Whom the router asks next: never twice in vain, never the ill, never outside for the private."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import ceil
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import Invalid
from opencrab.domain.models.fault import Fault, FaultResponse
from opencrab.domain.models.health import BreakerState, record_model_failure
from opencrab.domain.models.routing import (
    Duration,
    LlmConfig,
    ModelAssignment,
    ModelChosen,
    Routing,
    RoutingBasis,
    Use,
)
from opencrab.domain.turn.transcript import ModelAttempt
from opencrab.engine.models.router import (
    LAST_RETRIES,
    LONGEST_WAIT_SECONDS,
    NONSENSE_RETRIES,
    RETRIES,
    ModelPick,
    fallback_models,
    first_routed_model,
    pick_model,
    seconds_before_model_retry,
)
from opencrab.ports.models.model import ChatModel
from tests.unit.engine.known_models import Known, Named

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
OPENAI, CLAUDE, ROUTER, LLAMA = (
    Named("openai:gpt"),
    Named("anthropic:claude"),
    Named("openrouter:any"),
    Named("ollama:llama", private=True),
)
ALL = (OPENAI, CLAUDE, ROUTER, LLAMA)
NOBODY: Mapping[str, BreakerState] = MappingProxyType({})


def _agent(*, private: bool = False) -> Agent:
    return Agent(
        id="mika",
        name="美香",
        llm=LlmConfig(private=private),
        created_at=NOW,
        updated_at=NOW,
    )


def _models(*fallback: str) -> Known:
    return Known(ALL, Routing(default="openai:gpt", fallback=fallback))


def _candidates(models: Known, name: str, agent: Agent) -> tuple[ChatModel, ...]:
    return fallback_models(models, models.get(name), agent)


def _names(listed: tuple[object, ...]) -> list[str]:
    return [model.info.name for model in listed]  # type: ignore[attr-defined]


def _asked(picked: ModelPick | None) -> str | None:
    return None if picked is None else picked.model.info.name


def _paused(provider: str) -> dict[str, BreakerState]:
    return {provider: record_model_failure(None, NOW, at_once=True)}


def test_the_chosen_model_comes_first_and_the_chain_after_it_without_repeats() -> None:
    models = _models("openai:gpt", "anthropic:claude", "ollama:llama", "anthropic:claude")
    listed = _candidates(models, "anthropic:claude", _agent())
    assert _names(listed) == ["anthropic:claude", "openai:gpt", "ollama:llama"]


def test_who_is_absent_takes_nobodys_place_and_an_absent_choice_is_told() -> None:
    models = _models("nowhere:x", "anthropic:claude")
    assert _names(_candidates(models, "openai:gpt", _agent())) == [
        "openai:gpt",
        "anthropic:claude",
    ]
    with pytest.raises(Invalid, match="nowhere"):
        first_routed_model(models, Use.THINKING, RoutingBasis(model="nowhere:x"), ())


def test_what_the_agent_chose_for_a_while_and_is_gone_gives_way() -> None:
    models = _models()
    choice = ModelChosen(use=Use.THINKING, model="gone", duration=Duration.THIS_TURN)
    session = RoutingBasis(session={Use.THINKING: "gone"}, model="anthropic:claude")
    found, by = first_routed_model(models, Use.THINKING, session, (choice,))
    assert (found.info.name, by) == ("anthropic:claude", "agent")


def test_what_was_drawn_and_is_gone_gives_way_to_what_holds_without_it() -> None:
    lot = ModelAssignment(use=Use.THINKING, task_type="code", model="gone:x", probability=0.5)
    basis = RoutingBasis(model="anthropic:claude", lots=(lot,))
    model, by = first_routed_model(_models(), Use.THINKING, basis, (), "code")
    assert (model.info.name, by) == ("anthropic:claude", "agent")
    there = basis.replaced(lots=(lot.replaced(model="openrouter:any"),))
    model, by = first_routed_model(_models(), Use.THINKING, there, (), "code")
    assert (model.info.name, by) == ("openrouter:any", "learned")


@pytest.mark.parametrize(
    ("basis", "told"),
    [
        (RoutingBasis(models={Use.THINKING: "gone"}), "in the agent's llm config"),
        (RoutingBasis(model="gone"), "the agent's own"),
    ],
)
def test_a_lasting_choice_that_is_gone_is_told_with_its_place(
    basis: RoutingBasis, told: str
) -> None:
    with pytest.raises(Invalid, match=f"'gone' is {told}"):
        first_routed_model(_models("anthropic:claude"), Use.THINKING, basis, ())


def test_a_private_model_is_never_replaced_by_one_outside() -> None:
    models = _models("openai:gpt", "anthropic:claude")
    assert _names(_candidates(models, "ollama:llama", _agent())) == ["ollama:llama"]


def test_a_private_agent_thinks_with_private_models_only() -> None:
    agent = _agent(private=True)
    assert _names(_candidates(_models("ollama:llama"), "openai:gpt", agent)) == ["ollama:llama"]
    with pytest.raises(Invalid, match="is private"):
        _candidates(_models("anthropic:claude"), "openai:gpt", agent)


def test_who_has_no_price_takes_nobodys_place() -> None:
    dear = Named("openrouter:new", price=None)
    models = Known((OPENAI, dear), Routing(default="openai:gpt", fallback=("openrouter:new",)))
    assert _names(_candidates(models, "openai:gpt", _agent())) == ["openai:gpt"]


def test_who_cannot_call_actions_takes_nobodys_place() -> None:
    mute = Named("lmstudio:tiny", functions=False)
    models = Known((OPENAI, mute), Routing(default="openai:gpt", fallback=("lmstudio:tiny",)))
    assert _names(_candidates(models, "openai:gpt", _agent())) == ["openai:gpt"]


def test_the_first_is_asked_first_unless_its_provider_is_paused() -> None:
    assert _asked(pick_model(ALL, (), NOBODY, NOW)) == "openai:gpt"
    assert _asked(pick_model(ALL, (), _paused("openai"), NOW)) == "anthropic:claude"


def test_when_all_are_paused_the_first_is_asked_all_the_same() -> None:
    health = {model.info.provider: record_model_failure(None, NOW, at_once=True) for model in ALL}
    assert _asked(pick_model(ALL, (), health, NOW)) == "openai:gpt"


def test_a_provider_whose_pause_is_over_is_to_be_tried_by_one_caller() -> None:
    health = _paused("openai")
    picked = pick_model(ALL, (), health, NOW + timedelta(minutes=6))
    assert _asked(picked) == "openai:gpt"
    assert picked is not None
    assert picked.probe == health["openai"]
    probed = {"openai": health["openai"].with_probe(NOW + timedelta(minutes=6))}
    assert _asked(pick_model(ALL, (), probed, NOW + timedelta(minutes=6))) == "anthropic:claude"


def test_one_that_turns_requests_away_is_asked_twice_more_and_then_another() -> None:
    attempts: list[ModelAttempt] = []
    for again in range(1, RETRIES + 1):
        attempts.append(ModelAttempt("openai:gpt", Fault.RATE_LIMITED))
        picked = pick_model(ALL, attempts, NOBODY, NOW)
        assert picked is not None
        assert (_asked(picked), picked.again) == ("openai:gpt", again)
    attempts.append(ModelAttempt("openai:gpt", Fault.RATE_LIMITED))
    assert _asked(pick_model(ALL, attempts, NOBODY, NOW)) == "anthropic:claude"


@pytest.mark.parametrize("fault", [f for f in Fault if f.response is FaultResponse.NEXT])
def test_after_a_failure_the_next_provider_is_asked(fault: Fault) -> None:
    attempts = [ModelAttempt("openai:gpt", fault)]
    assert _asked(pick_model(ALL, attempts, NOBODY, NOW)) == "anthropic:claude"


@pytest.mark.parametrize("fault", [f for f in Fault if f.response is FaultResponse.STOP])
def test_what_no_other_provider_can_mend_ends_the_matter(fault: Fault) -> None:
    assert pick_model(ALL, [ModelAttempt("openai:gpt", fault)], NOBODY, NOW) is None


def test_a_provider_that_is_ill_is_not_asked_for_another_of_its_models() -> None:
    small = Named("openai:mini")
    listed = (OPENAI, small, CLAUDE)
    ill = [ModelAttempt("openai:gpt", Fault.SERVER_ERROR)]
    assert _asked(pick_model(listed, ill, NOBODY, NOW)) == "anthropic:claude"
    gone = [ModelAttempt("openai:gpt", Fault.MODEL_GONE)]
    assert _asked(pick_model(listed, gone, NOBODY, NOW)) == "openai:mini"


@pytest.mark.parametrize("fault", Fault)
def test_the_last_one_is_asked_again_if_it_may_pass(fault: Fault) -> None:
    attempts = [ModelAttempt("openai:gpt", fault)]
    picked = pick_model((OPENAI,), attempts, NOBODY, NOW)
    assert (picked is not None) == fault.may_pass
    most = NONSENSE_RETRIES if fault is Fault.NONSENSE else LAST_RETRIES
    if fault.may_pass:
        assert pick_model((OPENAI,), attempts * most, NOBODY, NOW) is not None
    assert pick_model((OPENAI,), attempts * (most + 1), NOBODY, NOW) is None


@given(
    st.lists(st.sampled_from(Fault), min_size=60, max_size=60),
    st.lists(st.sampled_from([model.info.provider for model in ALL]), unique=True),
)
def test_however_all_fail_it_comes_to_an_end_and_nobody_is_asked_too_often(
    faults: list[Fault], paused: list[str]
) -> None:
    health = {provider: record_model_failure(None, NOW, at_once=True) for provider in paused}
    attempts: list[ModelAttempt] = []
    for fault in faults:
        picked = pick_model(ALL, attempts, health, NOW)
        if picked is None:
            break
        attempts.append(ModelAttempt(picked.model.info.name, fault))
    assert pick_model(ALL, attempts, health, NOW) is None
    for model in ALL:
        assert sum(a.model == model.info.name for a in attempts) <= LAST_RETRIES + 1


def test_nonsense_after_two_other_failures_is_the_last_word() -> None:
    faults = (Fault.RATE_LIMITED, Fault.RATE_LIMITED, Fault.NONSENSE)
    attempts = [ModelAttempt(OPENAI.info.name, fault) for fault in faults]
    assert pick_model([OPENAI], attempts, {}, NOW) is None
    assert pick_model([OPENAI], attempts[:2], {}, NOW) is not None


@given(st.integers(1, 8), st.text(max_size=8), st.none() | st.floats(0, 1e17))
def test_a_wait_begins_when_the_providers_is_over_and_has_full_jitter(
    again: int, turn_id: str, asked_for: float | None
) -> None:
    seconds = seconds_before_model_retry(ModelPick(OPENAI, again), turn_id, asked_for)
    least = min(asked_for or 0, LONGEST_WAIT_SECONDS)
    assert max(1, least) <= seconds <= min(ceil(least + 2**again), LONGEST_WAIT_SECONDS)
    repeated = seconds_before_model_retry(ModelPick(OPENAI, again), turn_id, asked_for)
    assert repeated == seconds, "another worker waits as long"
    assert seconds_before_model_retry(ModelPick(OPENAI), turn_id, asked_for) == 0


@pytest.mark.parametrize("again", [1, 2, 3])
def test_turns_that_failed_together_come_back_spread_over_the_whole_wait(again: int) -> None:
    pick = ModelPick(OPENAI, again)
    waits = Counter(seconds_before_model_retry(pick, f"t{n}", None) for n in range(1_000))
    even = 1_000 / 2**again
    assert set(waits) == set(range(1, 2**again + 1))
    assert all(0.6 * even < times < 1.4 * even for times in waits.values())
