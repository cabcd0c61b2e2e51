"""The health of providers: shared by all workers, and changed only by who knew the newest."""

from opencrab.domain.models.health import FAILURES, BreakerState, record_model_failure
from opencrab.ports.home import Home
from tests.contract.example import NOW, later
from tests.contract.waiting import at_once

ILL = BreakerState(failures=1, failed_at=NOW)
WORSE = BreakerState(failures=3, failed_at=later(1.5), paused_until=later(31.123456))
NAMES = ["openai", "my-vllm", "社内モデル", "a.b[0].c", "health", "#x :y", "x" * 200]


def test_nothing_bad_is_known_at_first(home: Home) -> None:
    assert home.health.all() == {}


def test_what_is_known_of_a_provider_is_kept_until_it_answers(home: Home) -> None:
    for provider in NAMES:
        assert home.health.put(provider, ILL, None)
        assert home.health.put(provider, WORSE, ILL)
        assert home.health.all() == {provider: WORSE}
        home.health.forget(provider)
        assert home.health.all() == {}


def test_providers_are_ill_by_themselves(home: Home) -> None:
    assert home.health.put("openai", ILL, None)
    assert home.health.put("openai.com", WORSE, None)
    assert home.health.all() == {"openai": ILL, "openai.com": WORSE}
    home.health.forget("openai")
    assert home.health.all() == {"openai.com": WORSE}


def test_who_does_not_know_the_newest_changes_nothing(home: Home) -> None:
    assert not home.health.put("openai", WORSE, ILL)
    assert home.health.put("openai", ILL, None)
    assert not home.health.put("openai", WORSE, None)
    assert not home.health.put("openai", ILL, WORSE)
    assert home.health.all() == {"openai": ILL}


def test_to_forget_what_nobody_knows_is_nothing(home: Home) -> None:
    home.health.forget("openai")
    assert home.health.all() == {}
    assert home.health.put("openai", ILL, None)


def test_of_those_who_would_try_an_ill_provider_one_does(home: Home) -> None:
    assert home.health.put("openai", WORSE, None)

    def probe(number: int) -> bool:
        return home.health.put("openai", WORSE.with_probe(later(60 + number)), WORSE)

    assert at_once(8, probe).count(True) == 1


def test_failures_that_are_counted_together_begin_a_pause(home: Home) -> None:
    for second in range(FAILURES):
        known = home.health.all().get("openai")
        assert home.health.put("openai", record_model_failure(known, later(second)), known)
    assert home.health.all()["openai"].is_paused(later(FAILURES))


def test_health_and_switches_leave_each_other_alone(home: Home) -> None:
    home.switches.set("hana", frozen=True)
    assert home.health.put("openai", ILL, None)
    home.switches.set("hana", frozen=False)
    home.switches.set("ken", frozen=True)
    home.health.forget("openai")
    assert home.switches.all_frozen() == ("ken",)
