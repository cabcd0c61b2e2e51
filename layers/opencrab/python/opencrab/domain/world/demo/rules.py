"""Demo rules: what a cycle brings, and what each message of a citizen does in the demo world."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import content_hash
from opencrab.domain.world.demo.state import (
    BOUNTY_CYCLES,
    OPEN_BOUNTIES,
    UNITS,
    WELCOME,
    DemoBounty,
    DemoCitizen,
    DemoMessage,
    DemoState,
)

Changed = tuple[DemoState, list[DemoMessage]]
"""The next state, and the messages that tell of it."""

_TEXT = 500
_WORK = (
    "tidy the parser's error messages",
    "write down how the market works",
    "draw a map of the open questions",
    "check last week's catalogue",
    "explore a road nobody has taken",
    "make the build one second faster",
)


def admit_demo_world_citizens(state: DemoState, citizens: Sequence[DemoCitizen]) -> Changed:
    """Let new citizens in, with some currency of the treasury; known ones stay as they are."""
    told = list[DemoMessage]()
    for each in citizens:
        if each.key_id in state.citizens or state.treasury < WELCOME:
            continue
        state = state.with_citizen(each).replaced(treasury=state.treasury - WELCOME)
        state, account = state.with_entry(each.key_id, WELCOME)
        body = {"agent_id": each.key_id, "status": "ACTIVE", "account": account}
        told.append(DemoMessage(to=each.key_id, name="AGENT_SPAWN_ACK", body=body))
        if state.cycle:
            told += _allocation(state, each.key_id)
    return state, told


def begin_next_hour_of_demo_world(state: DemoState) -> Changed:
    """Begin the next cycle: units, prices, a new bounty, and the end of those that nobody did."""
    state = state.replaced(cycle=state.cycle + 1)
    state, told = _end_old_bounties(state)
    told += [each for key_id in state.citizens for each in _allocation(state, key_id)]
    state, announced = _announce_bounty(state)
    return state, told + announced


def answer_demo_world_citizen(
    state: DemoState, sender: str, nonce: str, name: str, body: Mapping[str, Any]
) -> Changed:
    """Carry out a citizen's message; the first message is its answer.

    What cannot be done changes nothing, costs nothing, and is answered with the reason.
    """
    handle = _HANDLERS.get(name, _refuse)
    try:
        after, answer, others = handle(state, sender, body)
    except Invalid as error:
        after, answer, others = state, {"ok": False, "error": error.message}, []
    citizen = after.citizens[sender]
    told = {
        "ok": True,
        "agent_id": sender,
        "balance": citizen.balance,
        "reputation": citizen.reputation,
        **answer,
    }
    return after, [DemoMessage(to=sender, name=name, body=told, reply_to=nonce), *others]


def _allocation(state: DemoState, key_id: str) -> list[DemoMessage]:
    told = {"cycle": state.cycle, "epoch": "DEMO", "prices": state.prices}
    told["world_hash"] = content_hash(f"{state.seed} {state.cycle} {state.treasury}".encode())
    units = {"agent_id": key_id, "budget": UNITS, "cycle": state.cycle}
    return [
        DemoMessage(to=key_id, name="WORLD_STATE", body=told),
        DemoMessage(to=key_id, name="TICK_ALLOC", body=units),
    ]


def _end_old_bounties(state: DemoState) -> Changed:
    told = list[DemoMessage]()
    for bounty in list(state.bounties.values()):
        if state.cycle - bounty.cycle < BOUNTY_CYCLES:
            continue
        state = state.without_bounty(bounty.id)
        if bounty.owner is None:
            state = state.replaced(treasury=state.treasury + bounty.reward)
            continue
        state, account = state.with_entry(bounty.owner, bounty.reward)
        body = {"kind": "bounty_ended", "bounty_id": bounty.id, "account": account}
        told.append(DemoMessage(to=bounty.owner, name="EVENT", body=body))
    return state, told


def _announce_bounty(state: DemoState) -> Changed:
    reward = 5 + state.draw("reward", 16)
    title = _WORK[state.draw("work", len(_WORK))]
    if state.treasury < reward or not state.citizens or len(state.bounties) >= OPEN_BOUNTIES:
        return state, []
    bounty = DemoBounty(id=f"b{state.cycle}", title=title, reward=reward, cycle=state.cycle)
    state = state.replaced(treasury=state.treasury - reward).with_bounty(bounty)
    return state, _tell_of(state, bounty, except_for="")


def _tell_of(state: DemoState, bounty: DemoBounty, *, except_for: str) -> list[DemoMessage]:
    body = {
        "kind": "bounty",
        "bounty_id": bounty.id,
        "title": bounty.title,
        "reward": bounty.reward,
        "until_cycle": bounty.cycle + BOUNTY_CYCLES - 1,
    }
    return [
        DemoMessage(to=key_id, name="EVENT", body=body)
        for key_id in state.citizens
        if key_id != except_for
    ]


Handled = tuple[DemoState, dict[str, Any], list[DemoMessage]]
"""The next state, what the sender is answered, and messages to others."""


def _charge(state: DemoState, sender: str, name: str, amount: int = 0) -> Handled:
    """Take a message's price for the treasury, and the amount that it hands over."""
    price = state.prices[name]
    cost = price + amount
    if state.citizens[sender].balance < cost:
        raise Invalid(f"this costs {cost}, your balance is {state.citizens[sender].balance}")
    if cost == 0:
        return state, {}, []
    state = state.replaced(treasury=state.treasury + price)
    state, account = state.with_entry(sender, -cost)
    return state, {"account": account}, []


def _transfer(state: DemoState, sender: str, body: Mapping[str, Any]) -> Handled:
    amount, to = _whole(body, "amount"), str(body.get("to", ""))
    if to not in state.citizens or to == sender:
        raise Invalid("to must be the agent_id of another citizen")
    state, answer, _ = _charge(state, sender, "TRANSFER", amount)
    state, account = state.with_entry(to, amount)
    told = {"kind": "transfer", "from": sender, "amount": amount, "account": account}
    return state, answer, [DemoMessage(to=to, name="EVENT", body=told)]


def _create_bounty(state: DemoState, sender: str, body: Mapping[str, Any]) -> Handled:
    reward, title = _whole(body, "reward"), str(body.get("title", ""))[:_TEXT]
    if reward == 0 or len(state.bounties) >= OPEN_BOUNTIES:
        raise Invalid(f"a reward above 0 is needed, and fewer than {OPEN_BOUNTIES} open bounties")
    state, answer, _ = _charge(state, sender, "BOUNTY_CREATE", reward)
    number = state.citizens[sender].entry
    bounty = DemoBounty(
        id=f"b{state.cycle}-{sender[:8]}-{number}",
        title=title,
        reward=reward,
        cycle=state.cycle,
        owner=sender,
    )
    state = state.with_bounty(bounty)
    answer = {**answer, "bounty_id": bounty.id}
    return state, answer, _tell_of(state, bounty, except_for=sender)


def _claim_bounty(state: DemoState, sender: str, body: Mapping[str, Any]) -> Handled:
    bounty = _bounty(state, body)
    if bounty.owner == sender:
        raise Invalid("this bounty is your own")
    if bounty.claimer not in {None, sender}:
        raise Invalid("another citizen has claimed it")
    return state.with_bounty(bounty.replaced(claimer=sender)), {"bounty_id": bounty.id}, []


def _submit_bounty(state: DemoState, sender: str, body: Mapping[str, Any]) -> Handled:
    """Accept work: the world pays for its own bounties at once, others are reviewed."""
    bounty, work = _bounty(state, body), str(body.get("submission_snap", ""))[:_TEXT]
    if bounty.claimer != sender or not work.strip():
        raise Invalid("claim the bounty first, and name your work in submission_snap")
    if bounty.owner is None:
        return _pay_bounty(state, bounty)
    told = {"kind": "review", "bounty_id": bounty.id, "submission": work, "by": sender}
    message = DemoMessage(to=bounty.owner, name="EVENT", body=told)
    return state.with_bounty(bounty.replaced(submission=work)), {"state": "in_review"}, [message]


def _review_bounty(state: DemoState, sender: str, body: Mapping[str, Any]) -> Handled:
    bounty = _bounty(state, body)
    if bounty.owner != sender or bounty.claimer is None or not bounty.submission:
        raise Invalid("only the owner of a bounty reviews what was submitted for it")
    if str(body.get("verdict", "")).lower() not in {"accept", "accepted", "true"}:
        told = {"kind": "bounty_rejected", "bounty_id": bounty.id}
        message = DemoMessage(to=bounty.claimer, name="EVENT", body=told)
        return state.with_bounty(bounty.replaced(submission="", claimer=None)), {}, [message]
    claimer = bounty.claimer
    state, paid, _ = _pay_bounty(state, bounty)
    told = {"kind": "bounty_paid", "bounty_id": bounty.id, **paid}
    return state, {}, [DemoMessage(to=claimer, name="EVENT", body=told)]


def _pay_bounty(state: DemoState, bounty: DemoBounty) -> Handled:
    claimer = str(bounty.claimer)
    state, account = state.without_bounty(bounty.id).with_entry(claimer, bounty.reward)
    better = state.citizens[claimer]
    better = better.replaced(reputation=min(round(better.reputation + 0.02, 4), 1.0))
    return state.with_citizen(better), {"state": "paid", "account": account}, []


def _trade(state: DemoState, sender: str, body: Mapping[str, Any]) -> Handled:
    """Buy or sell one part at the price of the cycle."""
    if body.get("service_id") != "market" or body.get("endpoint") not in {"buy", "sell"}:
        raise Invalid("service_id must be market, endpoint buy or sell")
    citizen, price = state.citizens[sender], state.prices["SERVICE_CALL"]
    if body["endpoint"] == "buy":
        state, answer, _ = _charge(state, sender, "SERVICE_CALL")
        parts = citizen.parts + 1
    else:
        if citizen.parts == 0 or state.treasury < price:
            raise Invalid("you have no part to sell")
        state, account = state.replaced(treasury=state.treasury - price).with_entry(sender, price)
        answer, parts = {"account": account}, citizen.parts - 1
    state = state.with_citizen(state.citizens[sender].replaced(parts=parts))
    return state, {**answer, "parts": parts, "price": price}, []


def _post(state: DemoState, sender: str, body: Mapping[str, Any]) -> Handled:
    text = str(body.get("text") or body.get("body") or "")[:_TEXT]
    if not text.strip():
        raise Invalid("text is needed")
    state, answer, _ = _charge(state, sender, "MSG_POST")
    told = {"kind": "message", "from": sender, "text": text}
    others = [each for each in state.citizens if each != sender]
    return state, answer, [DemoMessage(to=each, name="EVENT", body=told) for each in others]


def _query(state: DemoState, sender: str, _body: Mapping[str, Any]) -> Handled:
    rows = [
        {"bounty_id": each.id, "title": each.title, "reward": each.reward}
        for each in state.bounties.values()
        if each.claimer in {None, sender} and each.owner != sender
    ]
    citizens = {each.key_id: each.role.value for each in state.citizens.values()}
    answer = {"bounties": rows[:10], "parts": state.citizens[sender].parts, "citizens": citizens}
    return state, answer, []


def _refuse(_state: DemoState, _sender: str, _body: Mapping[str, Any]) -> Handled:
    raise Invalid("this message is not offered here; the prices list what is")


def _balance(state: DemoState, _sender: str, _body: Mapping[str, Any]) -> Handled:
    return state, {"cycle": state.cycle}, []


def _bounty(state: DemoState, body: Mapping[str, Any]) -> DemoBounty:
    found = state.bounties.get(str(body.get("bounty_id", "")))
    if found is None:
        raise Invalid("there is no such open bounty")
    return found


def _whole(body: Mapping[str, Any], name: str) -> int:
    value = body.get(name)
    if type(value) is not int or not 0 <= value < 2**63:
        raise Invalid(f"{name} must be a whole number from 0")
    return value


_HANDLERS: Mapping[str, Callable[[DemoState, str, Mapping[str, Any]], Handled]] = {
    "AGENT_STATUS": _balance,
    "BALANCE_QUERY": _balance,
    "BOUNTY_CLAIM": _claim_bounty,
    "BOUNTY_CREATE": _create_bounty,
    "BOUNTY_REVIEW": _review_bounty,
    "BOUNTY_SUBMIT": _submit_bounty,
    "MSG_POST": _post,
    "REGISTRY_QUERY": _query,
    "SERVICE_CALL": _trade,
    "TRANSFER": _transfer,
}
