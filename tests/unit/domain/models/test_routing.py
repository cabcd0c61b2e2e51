"""Who decides which model is asked: the narrowest choice wins."""

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
def test_a_choice_for_one_use_changes_no_other(chosen: Use, other: Use) -> None:
    before = _chosen(other, RoutingBasis())
    after = _chosen(other, RoutingBasis(session={chosen: "s:s"}), _choice(chosen, "t:t"))
    assert (after == before) == (chosen is not other)
