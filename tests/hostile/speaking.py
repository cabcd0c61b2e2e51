"""What people and things outside say in the hostile world, under names that they chose."""

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.autonomy.schedule import ScheduleDraft
from opencrab.domain.conversation.message import Channel, Message, Sender, TextPart
from opencrab.domain.errors import Conflict
from opencrab.domain.turn.turn import Trigger
from opencrab.engine.agents import events
from opencrab.engine.autonomy import schedules
from opencrab.engine.goals import instructions
from opencrab.engine.turn.admission import admit_turns_of_message
from tests.hostile import names, words
from tests.hostile.world import AGENTS, SAFE, SESSIONS, World

PEOPLE: dict[str, tuple[Source, Authority, str]] = {
    "owner": (Source.REST, Authority.OWNER, "owner"),
    "user": (Source.REST, Authority.USER, "yuki"),
    "public": (Source.DISCORD, Authority.PUBLIC, "stranger"),
    "hook": (Source.WEBHOOK, Authority.PUBLIC, "hook"),
    "peer": (Source.PEER, Authority.PEER, "remote"),
    "beat": (Source.HEARTBEAT, Authority.SELF, "heart"),
}


_ELSEWHERE = 0.6
_EVENTS = ("speech", "goal.completed", "opportunity")


def say(world: World, who: str) -> None:
    """Somebody says something in some session."""
    dice, watcher = world.dice, world.watcher
    source, authority, principal = PEOPLE[who]
    foreign = authority in {Authority.PUBLIC, Authority.PEER}
    text = dice.choice((*words.PLAIN, *words.INJECTIONS, names.text(dice)))
    if foreign:
        text = f"{watcher.mint()} {text}"
    elif dice.random() < 0.6:
        text = dice.choice(words.PLAIN)
    name = dice.choice(sorted(world.sessions))
    number = watcher.counts["said"] = watcher.counts["said"] + 1
    if who == "beat" and dice.random() < _ELSEWHERE:
        # In a session in which nobody has said anything yet, a heartbeat may begin clean.
        name = dice.choice([each for each in sorted(SESSIONS) if len(SESSIONS[each]) == 1])
        world.sessions[name] = f"{name}-{number}"
        world.session(world.sessions[name], SESSIONS[name])
    session_id = world.sessions[name]
    if who == "owner" and dice.random() < 0.15:
        session_id, text = SAFE, f"{text} {world.canaries[SAFE].token}"
    message = Message(
        source=source,
        source_id=f"m{number}",
        principal_id=principal,
        sender=Sender(id=principal, name=_sender_name(world, principal, foreign=foreign)),
        authority=authority,
        parts=(TextPart(text=text),),
        channel=_channel(world, foreign=foreign),
    )
    trigger = Trigger.HEARTBEAT if who == "beat" else Trigger.MESSAGE
    try:
        admit_turns_of_message(world.runtime, session_id, message, trigger=trigger)
    except Conflict:
        if session_id != SAFE:
            world.sessions[name] = f"{name}-{number}"
            world.session(world.sessions[name], SESSIONS[name])


def _sender_name(world: World, principal: str, *, foreign: bool) -> str:
    """A name that its bearer chose: a stranger's holds a mark, as all that strangers write."""
    dice = world.dice
    if dice.random() < 0.4:
        return "OpenCrab" if foreign else principal
    return names.name(dice, world.watcher.mint() if foreign else "")


def _channel(world: World, *, foreign: bool) -> Channel | None:
    if world.dice.random() > 0.4:
        return None
    called = world.dice.random() < 0.3
    mark = world.watcher.mint() if foreign else ""
    return Channel(kind="wall", address=names.name(world.dice, mark) if called else "room")


def undertake(world: World) -> None:
    """Somebody gives an instruction."""
    dice = world.dice
    source, authority, who = dice.choice((PEOPLE["owner"], PEOPLE["user"]))
    number = world.watcher.counts["instructions"] = world.watcher.counts["instructions"] + 1
    instructions.start_instruction_as_goal(
        world.runtime,
        dice.choice(sorted(AGENTS)),
        instructions.NewInstruction(
            instruction=dice.choice((*words.PLAIN, names.text(dice))),
            name=dice.choice((None, names.name(dice))),
        ),
        instructions.InstructionGiver(who, who, source, authority),
        key=f"k{number}",
    )


def tell(world: World) -> None:
    """Something outside reports an event to an agent, in foreign words."""
    dice, watcher = world.dice, world.watcher
    number = watcher.counts["events"] = watcher.counts["events"] + 1
    said = names.text(dice, watcher.mint())
    news = events.News(type=dice.choice(_EVENTS), source="shop", text=said)
    events.send_event_to_agent(
        world.runtime, dice.choice(sorted(AGENTS)), news, key=f"event{number}"
    )


def schedule(world: World) -> None:
    """The owner has something done again and again, under a name that looks like another."""
    dice, watcher = world.dice, world.watcher
    number = watcher.counts["schedules"] = watcher.counts["schedules"] + 1
    agent_id = dice.choice(sorted(AGENTS))
    draft = ScheduleDraft(
        name=names.new_name(dice),
        when=dice.choice(("@every 5m", "@every 1d")),
        instructions=names.text(dice),
        session_id=dice.choice((None, world.sessions[f"{agent_id}-room"])),
    )
    schedules.create_schedule(world.runtime, agent_id, f"schedule{number}", draft)
