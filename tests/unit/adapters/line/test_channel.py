"""Utterances on LINE: free replies while a token holds, else pushes; each is seen once."""

import pytest

from opencrab.domain.approvals.call_text import approval_question_with_call
from opencrab.domain.errors import Invalid, NeverSent, NotFound, Refused, Unavailable
from tests.discord.faults import Drop, Limited, Status
from tests.line.fake import GROUP, OWNER
from tests.unit.adapters.line.speaking import talking

LONG = "\n\n".join(f"{n}. " + "深い海の底に蟹が暮らしています。🦀" * 300 for n in range(8))


def test_the_first_answer_within_a_minute_is_a_free_reply() -> None:
    with talking() as talk:
        talk.event()
        talk.channel.send(talk.sending(talk.utterance("元気です。")))
        assert talk.line.texts() == ["元気です。"]
        assert talk.line.pushed == 0


def test_a_later_answer_and_one_without_an_event_are_pushed() -> None:
    with talking() as talk:
        talk.event()
        talk.clock.advance(51)
        talk.channel.send(talk.sending(talk.utterance("遅くなりました")))
        talk.channel.send(talk.sending(talk.utterance("おはよう", event=False)))
        talk.channel.send(talk.sending(talk.utterance("続き").replaced(opens=False, nonce="m")))
        assert talk.line.texts() == ["遅くなりました", "おはよう", "続き"]
        assert talk.line.pushed == 3


def test_a_group_is_answered_in_the_group() -> None:
    with talking() as talk:
        talk.event(GROUP)
        talk.channel.send(talk.sending(talk.utterance("みなさん", place=GROUP)))
        assert (talk.line.texts(GROUP), talk.line.texts()) == (["みなさん"], [])


def test_a_long_text_is_one_request_of_five_messages_and_more_of_the_rest() -> None:
    with talking() as talk:
        talk.event()
        said = talk.utterance(LONG)
        pieces = talk.channel.piece_count(said)
        for piece in range(pieces):
            talk.channel.send(talk.sending(said.replaced(piece=piece)))
        assert "".join("".join(talk.line.texts()).split()) == "".join(LONG.split())
        assert [len(each.body["messages"]) for each in talk.line.log] == [5, 5]
        assert [each.line[-5:] for each in talk.line.log] == ["reply", "/push"]


def test_a_lost_answer_to_a_push_is_repeated_by_its_retry_key_and_seen_once() -> None:
    with talking() as talk:
        said = talk.sending(talk.utterance("一度だけ", event=False))
        talk.line.faults.plan("push", Drop("after"))
        with pytest.raises(Unavailable):
            talk.channel.send(said)
        talk.clock.advance(300)
        assert talk.channel.is_idempotent(said)
        talk.channel.send(talk.sending(said))
        assert talk.line.texts() == ["一度だけ"]
        talk.clock.advance(24 * 3_600)
        assert not talk.channel.is_idempotent(said)


def test_a_lost_answer_to_a_reply_is_repeated_while_the_token_surely_holds() -> None:
    with talking() as talk:
        talk.event()
        said = talk.sending(talk.utterance("一度だけ"))
        talk.line.faults.plan("reply", Status(500, "after"))
        with pytest.raises(Unavailable):
            talk.channel.send(said)
        talk.clock.advance(4)
        assert talk.channel.is_idempotent(said)
        talk.channel.send(talk.sending(said))
        assert talk.line.texts() == ["一度だけ"]
        assert talk.line.pushed == 0


def test_a_reply_that_may_have_been_seen_is_not_pushed_later() -> None:
    with talking() as talk:
        talk.event()
        said = talk.sending(talk.utterance("見えたかも"))
        talk.line.faults.plan("reply", Drop("before"))
        with pytest.raises(Unavailable):
            talk.channel.send(said)
        talk.clock.advance(60)
        assert not talk.channel.is_idempotent(said)


def test_a_token_that_is_over_early_gives_way_to_a_push_that_may_be_repeated() -> None:
    with talking() as talk:
        token = talk.event()
        del talk.line._tokens[token]
        said = talk.sending(talk.utterance("届きます"))
        talk.line.faults.plan("push", Status(500, "after"))
        with pytest.raises(Unavailable):
            talk.channel.send(said)
        talk.clock.advance(4)
        assert talk.channel.is_idempotent(said)
        talk.channel.send(talk.sending(said))
        assert talk.line.texts() == ["届きます"]


def test_an_empty_text_sends_nothing() -> None:
    with talking() as talk:
        talk.event()
        silent = talk.sending(talk.utterance(""))
        talk.channel.send(silent)
        assert (talk.channel.piece_count(silent), talk.line.log) == (1, [])
        assert talk.channel.is_idempotent(silent)


def test_errors_say_what_to_do_and_never_the_token() -> None:
    with talking() as talk:
        said = talk.sending(talk.utterance("やあ", event=False))
        talk.line.quota = 0
        with pytest.raises(Refused, match="monthly limit") as over:
            talk.channel.send(said)
        assert "next month" in str(over.value.cure)
        talk.line.faults.plan("push", Limited())
        with pytest.raises(NeverSent):
            talk.channel.send(said)
        talk.line.token = "another"
        with pytest.raises(Refused, match="401") as refused:
            talk.channel.send(said)
        assert talk.tokens.known not in str(refused.value)
        talk.tokens.renewed, talk.line.quota = "another", 9
        talk.channel.send(said)
        assert talk.line.texts() == ["やあ"]


@pytest.mark.parametrize(
    ("status", "kind"), [(400, Invalid), (403, Refused), (404, NotFound), (503, Unavailable)]
)
def test_a_status_becomes_an_error_by_what_the_sender_must_do(
    status: int, kind: type[Exception]
) -> None:
    with talking() as talk:
        talk.line.faults.plan("push", Status(status))
        with pytest.raises(kind):
            talk.channel.send(talk.sending(talk.utterance("やあ", event=False)))


def test_an_unreadable_store_sends_nothing() -> None:
    with talking() as talk:
        talk.event()
        talk.facts.is_silent = True
        with pytest.raises(NeverSent):
            talk.channel.send(talk.sending(talk.utterance("やあ")))
        assert talk.line.log == []


def test_an_approval_has_buttons_that_carry_the_hash_of_what_is_shown() -> None:
    shown = approval_question_with_call("鐘を鳴らす?", '{"tone": "**ding**"}', "ab" * 32)
    with talking() as talk:
        talk.event()
        talk.channel.send(talk.sending(talk.utterance(shown, approval="01AP")))
        text, question = talk.line.shown[OWNER]
        assert text.text == shown
        assert [each["data"] for each in question.buttons] == [
            f"oc:ap:01AP:y:{'ab' * 8}",
            "oc:ap:01AP:n",
        ]
        assert [each["label"] for each in question.buttons] == ["承認 / Approve", "却下 / Reject"]


@pytest.mark.parametrize("text", ["ring_bell (external)", "long"])
def test_what_is_not_shown_whole_can_only_be_rejected(text: str) -> None:
    call = '{"text": "' + "海" * 25_000 + '"}'
    shown = approval_question_with_call("?", call, "ab" * 32) if text == "long" else text
    with talking() as talk:
        said = talk.utterance(shown, approval="01AP", event=False)
        for piece in range(talk.channel.piece_count(said)):
            talk.channel.send(talk.sending(said.replaced(piece=piece)))
        buttons = talk.line.shown[OWNER][-1].buttons
        assert [each["data"] for each in buttons] == ["oc:ap:01AP:n"]
