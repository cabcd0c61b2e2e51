"""Who decides which model is asked: the narrowest choice wins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.models.routing import (
    Duration,
    ModelAssignment,
    ModelChosen,
    Routing,
    RoutingBasis,
    Use,
)

ROUTING = Routing(default="d:d", uses={Use.THINKING: "u:u"})


def _choice(use: Use, model: str) -> ModelChosen:
    return ModelChosen(use=use, model=model, duration=Duration.THIS_TURN)


def _chosen(use: Use, basis: RoutingBasis, *choices: ModelChosen) -> tuple[str, str]:
    chosen = ROUTING.chosen(use, basis, choices)
    return chosen.model, chosen.by


def test_without_any_choice_a_use_has_its_model_or_the_default() -> None:
    assert _chosen(Use.THINKING, RoutingBasis()) == ("u:u", "use")
    assert _chosen(Use.CREATIVE, RoutingBasis()) == ("d:d", "default")


def test_each_choice_gives_way_to_a_narrower_one() -> None:
    use = Use.THINKING
    basis = RoutingBasis(model="a:a")
    assert _chosen(use, basis) == ("a:a", "agent")
    basis = basis.replaced(models={use: "p:p"})
    assert _chosen(use, basis) == ("p:p", "permanent")
    basis = basis.replaced(session={use: "s:s"})
    assert _chosen(use, basis) == ("s:s", "session")
    assert _chosen(use, basis, _choice(use, "t:t"), _choice(use, "n:n")) == ("n:n", "turn")


def test_what_was_learned_holds_for_its_task_alone_and_never_against_a_choice() -> None:
    use = Use.THINKING
    lot = ModelAssignment(use=use, task_type="code", model="l:l", probability=0.5)
    basis = RoutingBasis(model="a:a", lots=(lot,))
    assert ROUTING.chosen(use, basis, (), "code").by == "learned"
    assert ROUTING.chosen(use, basis, (), "design").by == "agent"
    assert ROUTING.chosen(use, basis).by == "agent"
    assert ROUTING.chosen(Use.ANALYSIS, basis, (), "code").by == "agent"
    for by, chosen in (
        ("permanent", basis.replaced(models={use: "p:p"})),
        ("session", basis.replaced(session={use: "s:s"})),
    ):
        assert ROUTING.chosen(use, chosen, (), "code").by == by
    assert ROUTING.chosen(use, basis, (_choice(use, "t:t"),), "code").by == "turn"


@given(st.sampled_from(Use), st.sampled_from(Use))
def test_a_choice_of_a_session_changes_no_other_use(chosen: Use, other: Use) -> None:
    before = _chosen(other, RoutingBasis())
    after = _chosen(other, RoutingBasis(session={chosen: "s:s"}))
    assert (after == before) == (chosen is not other)


@given(st.sampled_from(Use), st.sampled_from(Use))
def test_a_choice_of_this_turn_holds_for_the_rest_of_it_whatever_the_use(
    chosen: Use, other: Use
) -> None:
    after = _chosen(other, RoutingBasis(session={other: "s:s"}), _choice(chosen, "t:t"))
    assert after == (("s:s", "session") if other is Use.EMBEDDING else ("t:t", "turn"))


def test_the_newest_choice_of_a_turn_holds_unless_one_was_made_for_the_use() -> None:
    both = (_choice(Use.THINKING, "a:a"), _choice(Use.ANALYSIS, "b:b"))
    assert _chosen(Use.CONVERSATION, RoutingBasis(), *both) == ("b:b", "turn")
    assert _chosen(Use.THINKING, RoutingBasis(), *both) == ("a:a", "turn")


@pytest.mark.parametrize(
    ("basis", "choices", "use"),
    [
        (RoutingBasis(), (), Use.TOOL_CALLING),
        (RoutingBasis(model="own:own"), (), Use.CONVERSATION),
        (RoutingBasis(session={Use.CONVERSATION: "s:s"}), (), Use.CONVERSATION),
        (RoutingBasis(session={Use.TOOL_CALLING: "s:s"}), (), Use.TOOL_CALLING),
        (
            RoutingBasis(models={Use.TOOL_CALLING: "p:p", Use.CONVERSATION: "p:q"}),
            (),
            Use.TOOL_CALLING,
        ),
        (RoutingBasis(), (Use.THINKING,), Use.CONVERSATION),
        (RoutingBasis(), (Use.TOOL_CALLING, Use.THINKING), Use.TOOL_CALLING),
    ],
)
def test_a_conversation_that_acts_changes_to_the_model_for_tool_calls_if_one_is_named(
    basis: RoutingBasis, choices: tuple[Use, ...], use: Use
) -> None:
    named = ROUTING.replaced(uses=ROUTING.uses | {Use.TOOL_CALLING: "tool:tool"})
    chosen = tuple(_choice(each, "t:t") for each in choices)
    assert named.use_of_call(Use.CONVERSATION, basis, chosen, "conversation") is use


def test_without_a_model_for_tool_calls_a_turn_keeps_its_use() -> None:
    routing = Routing(default="d:d", uses={Use.CONVERSATION: "c:c"})
    assert routing.use_of_call(Use.CONVERSATION, RoutingBasis(), (), "code") is Use.CONVERSATION
