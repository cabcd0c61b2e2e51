"""The hub of answers: who watches gets every word once, and the slow hold up nobody."""

import gc
from threading import Thread

from opencrab.adapters.answer_hub import MOST_CHARACTERS, AnswerHub
from opencrab.ports.conversation.answers import AnswerFeed, AnswerPart


def part(text: str = "", n: int = 1, **changes: object) -> AnswerPart:
    said: dict[str, object] = {"session_id": "s1", "agent_id": "crab", "turn_id": "t1", "n": n}
    return AnswerPart(**(said | {"text": text} | changes))  # type: ignore[arg-type]


def every(_session: str, _agent: str) -> bool:
    return True


def test_the_words_of_one_answer_are_joined_until_they_are_taken() -> None:
    hub = AnswerHub()
    box = hub.follow(every)
    for word in ("Good ", "morning, ", "世界🦀"):
        hub.publish(part(word))
    hub.publish(part(ended=True))
    assert box.take() == (part("Good morning, 世界🦀", ended=True),)
    assert box.take() == ()


def test_an_answer_that_starts_over_replaces_what_was_shown() -> None:
    hub = AnswerHub()
    box = hub.follow(every)
    hub.publish(part("I think"))
    hub.publish(part("Hello", starts_over=True))
    hub.publish(part(" there"))
    assert box.take() == (part("Hello there", starts_over=True),)


def test_two_answers_at_once_stay_apart() -> None:
    hub = AnswerHub()
    box = hub.follow(every)
    hub.publish(part("one", turn_id="t1"))
    hub.publish(part("two", turn_id="t2"))
    hub.publish(part(" more", turn_id="t1"))
    assert [(each.turn_id, each.text) for each in box.take()] == [("t1", "one more"), ("t2", "two")]


def test_whoever_comes_late_gets_what_was_said_and_after_the_end_nothing() -> None:
    hub = AnswerHub()
    hub.publish(part("Good "))
    late = hub.follow(every)
    hub.publish(part("morning"))
    assert late.take() == (part("Good morning", starts_over=True),)
    hub.publish(part(ended=True))
    assert hub.follow(every).take() == ()


def test_only_who_wants_a_session_or_an_agent_gets_it() -> None:
    hub = AnswerHub()
    here = hub.follow(lambda session, _agent: session == "s1")
    crab = hub.follow(lambda _session, agent: agent == "crab")
    hub.publish(part("a", session_id="s2", turn_id="t2"))
    hub.publish(part("b", agent_id="other"))
    assert [each.text for each in here.take()] == ["b"]
    assert [each.text for each in crab.take()] == ["a"]


def test_a_watcher_is_gone_with_its_subscription() -> None:
    hub = AnswerHub()
    box = hub.follow(every)
    assert hub.is_watched("s1", "crab")
    del box
    gc.collect()
    assert not hub.is_watched("s1", "crab")


def test_a_slow_watcher_is_woken_once_and_holds_a_bounded_amount() -> None:
    woken = list[str]()
    hub = AnswerHub(woken.append)
    box = hub.follow(every)
    for _ in range(2_000):
        hub.publish(part("x" * 1_000))
    assert woken == ["s1"]
    assert sum(len(each.text) for each in box.take()) <= MOST_CHARACTERS
    hub.publish(part("news", n=2))
    assert woken == ["s1", "s1"]


def test_nobody_is_woken_for_what_nobody_watches() -> None:
    woken = list[str]()
    AnswerHub(woken.append).publish(part("alone"))
    assert woken == []


def test_words_from_many_threads_are_all_there() -> None:
    hub = AnswerHub()
    box = hub.follow(every)

    def say(turn_id: str) -> None:
        for number in range(500):
            hub.publish(part(f"{number} ", turn_id=turn_id))

    threads = [Thread(target=say, args=(f"t{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    texts: dict[str, str] = {}
    while any(thread.is_alive() for thread in threads):
        for each in box.take():
            texts[each.turn_id] = texts.get(each.turn_id, "") + each.text
    for each in box.take():
        texts[each.turn_id] = texts.get(each.turn_id, "") + each.text
    whole = "".join(f"{number} " for number in range(500))
    assert texts == {f"t{n}": whole for n in range(8)}


def test_it_is_an_answer_feed() -> None:
    feed: AnswerFeed = AnswerHub()
    assert not feed.is_watched("s1", "crab")
