"""What must hold once everything has come to rest, whoever died on the way."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from opencrab.domain.conversation.message import DeliveryState
from opencrab.domain.learning.signals import SIGNALS, TurnSignals
from tests.crash.outside import TEAR
from tests.crash.rest import ENDS, Json, Rest
from tests.crash.sums import costs_by_model, most_left_unused
from tests.crash.world import Cast, World, agent_ids

Write = tuple[bytes, bool]
"""What was to be written, and whether it certainly was."""

_SUMS = ("kills", "sleeps", "outages", "conflicts", "stale", "lost_calls", "billed", "spent")
_SILENT_ENDINGS = {"send_noreact", "declare_done"}


@dataclass
class Totals:
    """What runs amounted to, for the summary."""

    kills: int = 0
    sleeps: int = 0
    outages: int = 0
    conflicts: int = 0
    stale: int = 0
    lost_calls: int = 0
    billed: int = 0
    spent: int = 0
    share: float = 0.0
    largest: int = 0

    def add(self, other: "Totals") -> None:
        """Take another run, or another worker's runs, into account."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.share = max(self.share, other.share)
        self.largest = max(self.largest, other.largest)


def problems(world: World) -> list[str]:
    """Every invariant that this run broke, in words; empty when all hold."""
    rest = Rest(world)
    if world.problems:
        return world.problems
    found = [*world.watch.problems]
    found.extend(_queues(rest))
    for cast in world.casts:
        found.extend(_answers(world, rest, cast))
        found.extend(_session(rest, cast))
    for turn_id, turn in rest.turns.items():
        found.extend(f"turn {turn_id}: {problem}" for problem in _turn(world, rest, turn_id, turn))
    found.extend(_files(world, rest))
    found.extend(_money(world, rest))
    found.extend(_channels(world, rest))
    return found


def totals(world: World) -> Totals:
    """What this run adds to the summary."""
    rest = Rest(world)
    scheduler = world.scheduler
    return Totals(
        kills=scheduler.kills,
        sleeps=scheduler.sleeps,
        outages=scheduler.outages,
        conflicts=world.weather.met,
        stale=world.weather.stale,
        lost_calls=lost_calls(world, rest),
        billed=world.provider.bill.total,
        spent=sum(turn["spent"] for turn in rest.turns.values()),
        share=max(_share(world, cast) for cast in world.casts),
        largest=world.watch.largest,
    )


def _share(world: World, cast: Cast) -> float:
    """How much of an agent's limit its provider charged."""
    scenario = cast.scenario
    limit = scenario.day_limit or scenario.rules.limits.turn_micro_usd * scenario.turns
    charged = world.provider.bill.charged
    return max(charged[f"fake:{agent_id}"] / limit for agent_id in agent_ids(scenario))


def lost_calls(world: World, rest: Rest) -> int:
    """Model calls that the provider received and whose answers no journal holds."""
    kept = sum(
        record["kind"] == "model_result"
        and record["state"] in {"completed", "failed", "cancelled"}
        and "dead" not in (record["error"] or "")
        for records in rest.records.values()
        for record in records.values()
    )
    return world.provider.bill.received - int(kept)


def _queues(rest: Rest) -> Iterator[str]:
    for queue, count in rest.queued.items():
        yield f"{count} messages are left in {queue}"
    if rest.due:
        yield f"{rest.due} due items are left"
    if rest.dead and not any("no progress" in turn["note"] for turn in rest.turns.values()):
        yield f"{rest.dead} dead letters and no turn was given up"


def _answers(world: World, rest: Rest, cast: Cast) -> Iterator[str]:
    """Each message has as many turns as participants, and each turn has ended, or waits rightly.

    A turn may be given up after three deliveries; a sleeper costs two: its own, and that of the
    worker whose turn it takes when it wakes. One that was given back between two steps costs none.
    """
    scenario, befell = cast.scenario, world.scheduler
    faults = befell.faults + befell.sleeps
    turns = {k: t for k, t in rest.turns.items() if t["session_id"] == cast.session_id}
    if len(turns) != scenario.turns:
        yield f"{scenario.name} has {len(turns)} turns"
    yield from (f"turn {key} was promised and is lost" for key in set(cast.promises) - set(turns))
    allowed = {*scenario.ends, *scenario.may_end}
    for key, turn in turns.items():
        status = turn["status"]
        worn = status == "failed" and "no progress" in turn["note"] and faults >= 3
        steps = status == "exhausted" and turn["attempts"] >= scenario.rules.max_steps
        if status not in allowed and not worn and not steps:
            yield f"turn {key} of {scenario.name} is {status}: {turn['note']}"
        if worn and not rest.dead:
            yield f"turn {key} was given up without a dead letter"


def _session(rest: Rest, cast: Cast) -> Iterator[str]:
    numbers = [line["sequence"] for line in rest.lines[cast.session_id]]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"lines of {cast.session_id} are numbered {numbers}"
    ended = [t for t in rest.turns.values() if t["session_id"] == cast.session_id]
    ended = [turn for turn in ended if turn["status"] in ENDS]
    if over := rest.unanswered.get(cast.session_id, set()) & {turn["id"] for turn in ended}:
        yield f"{cast.session_id} still waits for the ended turns {sorted(over)}"
    session = rest.sessions[cast.session_id]
    if session["turn_number"] != len(ended):
        yield f"{cast.session_id} counted {session['turn_number']} turns, {len(ended)} ended"
    done = {
        turn["agent_id"]
        for turn in ended
        for record in rest.results(turn["id"])
        if record["name"] == "declare_done" and record["state"] == "completed"
    }
    declared = {p["agent_id"] for p in session["participants"] if p["done_declared"]}
    # In a conversation an agent's next turn takes it back, in a discussion it stays.
    if not declared <= done or (session.get("hop_limit") and declared != done):
        yield f"{cast.session_id} has {declared} done, the journal has {done}"


def _turn(world: World, rest: Rest, turn_id: str, turn: Json) -> Iterator[str]:
    yield from _records(turn, rest.records[turn_id])
    yield from _calls(rest, turn_id, turn)
    yield from _words(rest, turn_id, turn)
    yield from _rings(world, rest, turn_id)
    if turn["status"] in ENDS and turn["allowance"]:
        yield "it ended and kept an allowance"


def _records(turn: Json, records: dict[str, Json]) -> Iterator[str]:
    numbers = sorted({int(key[:4]) for key in records})
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"records are numbered {numbers}"
    for key, record in records.items():
        settled = key[:4] + "R" in records
        withdrawn = record["kind"] == "approval_request" and turn["stop"] is not None
        if key.endswith("I") and not settled and not withdrawn and turn["status"] in ENDS:
            yield f"intent {key} has no result"
        effect = record["kind"] == "call_result" and record["name"] in {"ws_write", "ring_bell"}
        if effect and record["state"] == "completed" and key[:4] + "I" not in records:
            yield f"result {key} has no intent"


def _calls(rest: Rest, turn_id: str, turn: Json) -> Iterator[str]:
    """Each call that was asked for ended once, and no other."""
    asked = set(rest.calls(turn_id))
    results = Counter(record["call_id"] for record in rest.results(turn_id))
    yield from (f"call {key} has {n} results" for key, n in results.items() if n > 1)
    yield from (f"call {key} was never asked for" for key in set(results) - asked)
    if turn["status"] in {"completed", "idle"}:
        yield from (f"call {key} has no result" for key in asked - set(results))


def _words(rest: Rest, turn_id: str, turn: Json) -> Iterator[str]:
    """Every speech is there once, and an ended turn has one last word or is meant to be silent."""
    lines = [line for line in rest.lines[turn["session_id"]] if line["turn_id"] == turn_id]
    shown = [line["text"] for line in lines if line["kind"] in {"speech", "system"}]
    spoken = [
        effect["text"]
        for record in rest.results(turn_id)
        for effect in record["result"]["side_effects"]
        if effect["kind"] == "spoke"
    ]
    silent = any(
        record["state"] == "completed" and record["name"] in _SILENT_ENDINGS
        for record in rest.results(turn_id)
    )
    if turn["status"] in ENDS:
        expected = 0 if silent and turn["status"] in {"completed", "idle"} else 1
        expected += _was_cut(rest, turn_id)
        if len(shown) - len(spoken) != expected or shown[: len(spoken)] != spoken:
            yield f"it says {shown}, its calls said {spoken}"
    elif shown != spoken:
        yield f"it says {shown} while its calls said {spoken}"
    utterances = sorted(
        (u for u in rest.utterances if u["turn_id"] == turn_id), key=lambda u: int(u["ordinal"])
    )
    pushed = [utterance["text"] for utterance in utterances]
    if _was_cut(rest, turn_id) and turn["status"] in ENDS:
        # One message has what was said and that it is incomplete.
        shown = [*shown[:-2], "\n\n".join(shown[-2:])]
    if pushed != (shown if turn["channel"] else []):
        yield f"its outbox has {pushed}, its lines {shown}"


def _was_cut(rest: Rest, turn_id: str) -> bool:
    """Whether the turn's last model call was ended in the middle of its answer."""
    results = [r for r in rest.records[turn_id].values() if r["kind"] == "model_result"]
    last: Json = results[-1] if results else {"state": ""}
    return last["state"] == "cancelled" and bool(last["answer"]["text"])


def _rings(world: World, rest: Rest, turn_id: str) -> Iterator[str]:
    """A `once` call took effect at most once, and what the model was told of it is true."""
    rings, records = Counter(world.bell.rings), rest.records[turn_id]
    for record in rest.results(turn_id):
        if record["name"] != "ring_bell":
            continue
        times = rings[f"{turn_id}-{record['call_id']}"]
        possible = {"completed": {1}, "unknown": {0, 1}}.get(record["state"], {0})
        if times not in possible:
            yield f"the bell rang {times} times and the model was told {record['state']}"
    asked = {record["call_id"] for record in records.values() if record["kind"] == "action_intent"}
    for key, times in rings.items():
        owner, _, call_id = key.rpartition("-")
        if owner == turn_id and (times > 1 or call_id not in asked):
            yield f"the bell rang {times} times for {call_id}"


def _files(world: World, rest: Rest) -> Iterator[str]:
    """Each write took effect once, in program order, and the last one is what is there."""
    wanted: dict[tuple[str, str], list[Write]] = defaultdict(list)
    for turn_id in sorted(rest.turns, key=lambda key: int(rest.turns[key]["trigger_line"])):
        calls = rest.calls(turn_id)
        for record in rest.results(turn_id):
            if record["name"] == "ws_write" and record["state"] in {"completed", "unknown"}:
                asked, certain = calls[record["call_id"]]["arguments"], record["state"] != "unknown"
                place = rest.turns[turn_id]["agent_id"], asked["path"]
                wanted[place].append((asked["content"].encode(), certain))
    for place in wanted.keys() | world.watch.written.keys():
        done = world.watch.written[place]
        if not _matches(done, wanted[place], rewrites=world.ground.rewrites):
            yield f"{place} was written {done}, the journal says {wanted[place]}"
        if done and world.ground.file(*place) != done[-1]:
            yield f"{place} holds {world.ground.file(*place)!r}"


def _matches(
    done: list[bytes], asked: list[Write], *, rewrites: bool, now: bytes | None = None
) -> bool:
    """Whether exactly these writes were asked for, in this order, all but doubtful ones.

    What is there already is perhaps not written again.
    """
    if not asked:
        return not done
    (content, certain), rest = asked[0], asked[1:]
    if done and done[0] == content and _matches(done[1:], rest, rewrites=rewrites, now=content):
        return True
    omitted = not certain or (content == now and not rewrites)
    return omitted and _matches(done, rest, rewrites=rewrites, now=now)


def _money(world: World, rest: Rest) -> Iterator[str]:
    """Bill <= journal = budgets <= limits."""
    spent: Counter[str] = Counter()
    for turn_id, turn in rest.turns.items():
        for scope in ("installation", f"agent:{turn['agent_id']}"):
            spent[scope] += turn["spent"] + turn["allowance"]
        records = rest.records[turn_id].values()
        if sum(record.get("cost", 0) for record in records) != turn["spent"]:
            yield f"turn {turn_id} spent {turn['spent']}, its results cost another sum"
    unused = most_left_unused(world)
    if any(not 0 <= rest.drawn[scope] - spent[scope] <= unused for scope in rest.drawn | spent):
        yield f"budgets have {dict(rest.drawn)} drawn, the turns hold {dict(spent)}"
    kept = costs_by_model(rest)
    for model, charged in world.provider.bill.charged.items():
        if charged > kept[model]:
            yield f"{model} charged {charged}, the journal knows of {kept[model]}"
    yield from _ledger(world, rest)
    yield from _signals(world, rest)
    yield from _limits(world, rest)
    lost, faults = lost_calls(world, rest), world.scheduler.faults
    if lost > faults:
        yield f"{lost} extra model calls for {faults} faults"


def _ledger(world: World, rest: Rest) -> Iterator[str]:
    """One row for each model call that has ended, with its cost."""
    ended = Counter[tuple[str, int, int]]()
    for turn_id, records in rest.records.items():
        for record in records.values():
            if record["kind"] == "model_result":
                ended[turn_id, record["n"], record["cost"]] += 1
    agents = {agent_id for cast in world.casts for agent_id in agent_ids(cast.scenario)}
    rows = Counter(
        (row.turn_id, row.n, row.cost)
        for agent_id in agents
        for row in world.raw.usage.rows(agent_id, limit=10_000)
    )
    if rows != ended:
        yield f"the ledger has other rows than calls: {dict(rows - ended)}, {dict(ended - rows)}"


def _signals(world: World, rest: Rest) -> Iterator[str]:
    """An ended turn that asked a model tells so once, with all its calls and their cost."""
    agents = {agent_id for cast in world.casts for agent_id in agent_ids(cast.scenario)}
    told = Counter[tuple[str, str, int, int]]()
    for fact in (f for name in agents for f in world.raw.facts.page(name, SIGNALS, limit=10_000)):
        each = fact.read(TurnSignals)
        calls, cost = sum(s.calls for s in each.served), sum(s.cost for s in each.served)
        told[each.turn_id, each.status.value, calls, cost] += 1
    expected = Counter[tuple[str, str, int, int]]()
    for turn_id, turn in rest.turns.items():
        results = [r for r in rest.records[turn_id].values() if r["kind"] == "model_result"]
        if turn["status"] in ENDS and results:
            cost = sum(record["cost"] for record in results)
            expected[turn_id, turn["status"], len(results), cost] += 1
    if told != expected:
        yield f"signals tell {dict(told - expected)} instead of {dict(expected - told)}"


def _limits(world: World, rest: Rest) -> Iterator[str]:
    limits = world.casts[0].scenario.rules.limits
    for turn_id, turn in rest.turns.items():
        if turn["spent"] > limits.turn_micro_usd:
            yield f"turn {turn_id} spent {turn['spent']}"
    for cast in world.casts:
        limit = cast.scenario.day_limit or limits.agent_day_micro_usd
        for agent_id in agent_ids(cast.scenario):
            drawn, charged = rest.drawn[f"agent:{agent_id}"], world.provider.bill.charged
            if max(drawn, charged[f"fake:{agent_id}"]) > limit:
                yield f"{agent_id} drew {drawn} of {limit}"
    if world.provider.bill.total > limits.installation_day_micro_usd:
        yield f"the provider charged {world.provider.bill.total}"


def _channels(world: World, rest: Rest) -> Iterator[str]:
    """Each utterance shows once, in order; perhaps not at all where nobody can know."""
    for kind, wall in world.walls.items():
        shown = Counter(wall.shown)
        mine = [u for u in rest.utterances if u["channel"]["kind"] == kind]
        for utterance in mine:
            state = utterance["state"]
            if not DeliveryState(state).is_end:
                yield f"utterance {utterance['text']!r} is still {state}"
            for place, text in enumerate(utterance["text"].split(TEAR)):
                times = shown.pop((utterance["turn_id"], text), 0)
                if times not in _times(utterance, place):
                    yield f"piece {text!r} of what is {state} shows {times} times"
            if state == "indeterminate" and wall.recognises:
                yield f"utterance {utterance['text']!r} is given up although it could be repeated"
        yield from (f"{what} shows and was never said" for what in shown)
        if world.scheduler.sleeps == 0:
            yield from _order(wall.shown, mine)


def _times(utterance: Json, place: int) -> set[int]:
    """How often a piece may show: once if it or a later one was the last to be sent for sure."""
    if utterance["state"] == "sent" or place < utterance.get("piece", 0):
        return {1}
    unsure = utterance["state"] == "indeterminate" and place == utterance.get("piece", 0)
    return {0, 1} if unsure else {0}


def _order(shown: list[tuple[str, str]], utterances: list[Json]) -> Iterator[str]:
    """A turn's utterances show in their order; only a worker that slept may be overtaken."""
    ordinals = {
        (u["turn_id"], text): (u["ordinal"], place)
        for u in utterances
        for place, text in enumerate(u["text"].split(TEAR))
    }
    for turn_id in {turn_id for turn_id, _ in shown}:
        places = [ordinals.get(what, (-1, 0)) for what in shown if what[0] == turn_id]
        if places != sorted(places):
            yield f"turn {turn_id} shows its utterances in the order {places}"
