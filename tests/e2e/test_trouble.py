"""What becomes of a turn, or of its words, when something around it fails for good."""

from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import DeliveryState, LineKind, Utterance
from opencrab.domain.errors import NeverSent, Unavailable
from opencrab.domain.turn.turn import TurnStatus
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.turn.journal import TurnChange
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import Reply
from tests.e2e.house import House

IN_HOMES = DISTINCT_HOMES


class Fog:
    """A channel that does not recognise a repeat, and fails in one way."""

    def __init__(self, error: type[Unavailable]) -> None:
        self._error = error
        self.sends = 0

    def piece_count(self, utterance: Utterance) -> int:
        return 1

    def is_idempotent(self, utterance: Utterance) -> bool:
        return False

    def show(self, place: Place, panel: Panel) -> None:
        """Nothing can be replaced here."""

    def send(self, utterance: Utterance) -> None:
        self.sends += 1
        raise self._error("nobody knows")


def _delivered_into(house: House, fog: Fog) -> Utterance:
    house.runtime.channels["fog"] = fog  # type: ignore[index]
    house.session(house.agent("crab", (Reply(text="こんにちは"),)))
    (turn,) = house.say("hello", channel="fog")
    house.work()
    for _ in range(12):
        house.later(600)
    return house.home.outbox.get("fog:room", f"{turn.id}#0000")


def test_words_that_may_have_been_seen_are_not_said_twice(house: House) -> None:
    fog = Fog(Unavailable)
    assert _delivered_into(house, fog).state is DeliveryState.INDETERMINATE
    assert fog.sends == 1


def test_words_that_never_left_are_tried_again_and_end_as_failed(house: House) -> None:
    fog = Fog(NeverSent)
    assert _delivered_into(house, fog).state is DeliveryState.FAILED
    assert fog.sends > 1


def test_a_turn_whose_agent_cannot_be_read_ends_and_is_kept_for_the_operator(
    house: House,
) -> None:
    house.session(house.agent("crab", (Reply(text="はい"),)))
    (turn,) = house.say("hello")
    house.lose_agent("crab")
    house.work()
    assert house.turn(turn.id).status is TurnStatus.FAILED
    assert len(house.home.turns.list_dead_letters(10)) == 1
    house.later(3_600)
    assert len(house.home.turns.list_dead_letters(10)) == 1


def test_the_sweep_leaves_a_turn_alone_that_went_on_meanwhile(house: House) -> None:
    house.session(house.agent("crab", (Reply(text="はい"),)))
    (turn,) = house.say("hello")
    journal, now = house.home.journal, house.clock.now()
    claimed = journal.claim(turn.id, lease_until=now, receipt="r")
    assert claimed is not None
    house.clock.advance(1)
    later = claimed.turn.replaced(lease_until=house.clock.now())
    journal.commit(TurnChange(turn=later, expected=claimed.turn.sequence))
    assert not journal.extend(claimed.turn, house.clock.now())
    assert journal.extend(later, house.clock.now())


def test_speech_of_other_agents_taints_and_the_owners_does_not(house: House) -> None:
    names = ("crab", "squid")
    house.session(*(house.agent(name, (Reply(text=f"{name} です"),)) for name in names))
    turns = house.say("みんな、どう思う?")
    house.work()
    assert len(house.lines(LineKind.SPEECH)) == len(names)
    assert [house.turn(turn.id).taint for turn in turns] == [False, True]
