"""Goal queue: the active goal, its next turn, and the goal that follows when it ends."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.agent import Profile
from opencrab.domain.agents.agent_state import MIND, Agenda, AgentState
from opencrab.domain.autonomy.heartbeat_gate import is_heartbeat_speech_in_cooldown
from opencrab.domain.autonomy.instruction_plan import INSTRUCTION_PLAN, InstructionPlan
from opencrab.domain.autonomy.vital_signs import VITALS, VitalSigns
from opencrab.domain.conversation.message import Channel, Message, Sender, TextPart
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.document import Document, new_fact
from opencrab.domain.goals.expectation import EXPECTATIONS, Expectations
from opencrab.domain.goals.goal import GOAL, Goal, GoalStatus, Task, TaskStatus, goal_document_id
from opencrab.domain.goals.owner_order import GOAL_ORDER, OwnerOrder
from opencrab.domain.identifier import turn_id
from opencrab.domain.turn.due_item import DueItem
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import MESSAGE_BYTES, Value
from opencrab.domain.world.binding import WORLD, WorldBinding
from opencrab.engine.phrases import system_phrase
from opencrab.ports.documents import Documents
from opencrab.ports.turn.action import one_line

OPENCRAB = Sender(id="opencrab", name="OpenCrab")
"""The sender of turns that a plan starts rather than a message."""

_AT_ONCE = timedelta(0)

Prepare = Callable[[Goal], Goal]


@dataclass
class GoalBoard:
    """An agent's state and goals while several of them change; `facts` are the changes to write."""

    facts_port: Documents
    profile: Profile
    now: datetime
    goals: dict[str, Document]
    mind: Document | None = None

    @classmethod
    def of(cls, facts: Documents, profile: Profile, now: datetime, *goals: Document) -> "GoalBoard":
        """Create a board with goals that were read already; everything else is read when needed."""
        return cls(facts, profile, now, {goal.read(Goal).id: goal for goal in goals})

    def __post_init__(self) -> None:
        self._changed: dict[tuple[str, str, str], Document] = {}
        self._expecting: Document | None = None
        self._ordering: Document | None = None
        self._read_order = False
        self._planning: Document | None = None
        self.due: list[DueItem] = []

    def use_agent_state(self, mind: AgentState) -> None:
        """Use an agent state that was read with its agent; such a board must not be written."""
        agent_id = self.profile.agent.id
        self.mind = Document(owner=agent_id, kind=MIND, id=MIND, version=0, body=None).with_body(
            mind
        )

    @property
    def facts(self) -> tuple[Document, ...]:
        """The documents to write in one transaction."""
        return tuple(self._changed.values())

    def agenda(self) -> Agenda:
        """Return the agent's agenda with the changes made so far."""
        agent_id = self.profile.agent.id
        if self.mind is None:
            stored = self.facts_port.get(agent_id, MIND, MIND)
            self.mind = stored or Document(owner=agent_id, kind=MIND, id=MIND, version=0, body={})
        return self.mind.read(AgentState).agenda

    def put_agenda(self, agenda: Agenda) -> None:
        """Replace the agenda."""
        self.agenda()
        assert self.mind is not None  # noqa: S101  - read by the line before
        mind = self.mind.read(AgentState).replaced(agenda=agenda)
        self._put(self.mind, mind)

    def goal(self, goal_id: str) -> Goal | None:
        """Return a goal with the changes made so far; None if it does not exist."""
        if goal_id not in self.goals:
            stored = self.facts_port.get(self.profile.agent.id, GOAL, goal_document_id(goal_id))
            if stored is None:
                return None
            self.goals[goal_id] = stored
        return self.goals[goal_id].read(Goal)

    def open_goals(self) -> list[Goal]:
        """Return the open goals with changes made so far; reads the expectations as well."""
        agent_id, wanted = self.profile.agent.id, self.agenda().open
        missing = [(GOAL, goal_document_id(each)) for each in wanted if each not in self.goals]
        if self._expecting is None:
            missing.append((EXPECTATIONS, EXPECTATIONS))
        if not self._read_order:
            missing.append((GOAL_ORDER, GOAL_ORDER))
            if self.profile.agent.heartbeat.acts_on_its_own:
                missing.append((INSTRUCTION_PLAN, INSTRUCTION_PLAN))
        if missing:
            for fact in self.facts_port.get_many(agent_id, *missing):
                self._keep(fact)
            self._read_order = True
        found = (self.goals[each].read(Goal) for each in wanted if each in self.goals)
        return [goal for goal in found if not goal.status.is_end]

    def owner_order(self) -> OwnerOrder:
        """Return the owner's order of goals, which is read with the open goals."""
        if not self._read_order:
            self.open_goals()
        return OwnerOrder() if self._ordering is None else self._ordering.read(OwnerOrder)

    def put_owner_order(self, order: OwnerOrder) -> None:
        """Replace the owner's order of goals."""
        if order == self.owner_order():
            return
        if self._ordering is None:
            agent_id = self.profile.agent.id
            fact = new_fact(agent_id, GOAL_ORDER, GOAL_ORDER, order)
            self._ordering = self._changed[fact.key] = fact
        else:
            self._put(self._ordering, order)

    def instruction_plan(self) -> InstructionPlan | None:
        """Return the plan of standing instructions, which is read with the open goals."""
        if not self._read_order:
            self.open_goals()
        return None if self._planning is None else self._planning.read(InstructionPlan)

    def put_instruction_plan(self, plan: InstructionPlan) -> None:
        """Replace the plan of standing instructions, which must be stored."""
        if self._planning is not None and plan != self.instruction_plan():
            self._put(self._planning, plan)

    def expectations(self) -> Expectations:
        """Return what the agent expects of its own goals, with the changes made so far."""
        agent_id = self.profile.agent.id
        if self._expecting is None:
            self._expecting = self.facts_port.get(agent_id, EXPECTATIONS, EXPECTATIONS)
        return Expectations() if self._expecting is None else self._expecting.read(Expectations)

    def put_expectations(self, expectations: Expectations) -> None:
        """Replace what the agent expects of its own goals."""
        before = self.expectations()
        if self._expecting is None:
            agent_id = self.profile.agent.id
            fact = new_fact(agent_id, EXPECTATIONS, EXPECTATIONS, expectations)
            self._expecting = self._changed[fact.key] = fact
        elif expectations != before:
            self._put(self._expecting, expectations)

    def add_document(self, fact: Document) -> None:
        """Add one more document of the agent to the changes."""
        self._changed[fact.key] = fact

    def reputation(self) -> float | None:
        """Return the agent's reputation in its world; None if it has no world or it is unknown."""
        agent = self.profile.agent
        stored = None if agent.world is None else self.facts_port.get(agent.id, WORLD, WORLD)
        return None if stored is None else stored.read(WorldBinding).reputation

    def put_goal(self, goal: Goal) -> None:
        """Replace a goal, or add a new one."""
        stored = self.goals.get(goal.id)
        if stored is None:
            fact = new_fact(goal.agent_id, GOAL, goal_document_id(goal.id), goal)
            self.goals[goal.id] = self._changed[fact.key] = fact
        else:
            self._put(stored, goal)

    def _put(self, stored: Document, value: Value) -> None:
        """Replace a stored document; several changes on one board increase its version once."""
        base = (
            stored
            if stored.key not in self._changed
            else stored.replaced(version=stored.version - 1)
        )
        fact = base.with_body(value)
        self._changed[fact.key] = fact
        self._keep(fact)

    def _keep(self, fact: Document) -> None:
        """Use a document of one of the board's kinds from now on."""
        if fact.kind == MIND:
            self.mind = fact
        elif fact.kind == EXPECTATIONS:
            self._expecting = fact
        elif fact.kind == GOAL_ORDER:
            self._ordering = fact
        elif fact.kind == INSTRUCTION_PLAN:
            self._planning = fact
        else:
            self.goals[fact.read(Goal).id] = fact


def add_goal_to_queue(board: GoalBoard, goal: Goal) -> None:
    """Add a new goal to the agenda."""
    agenda = board.agenda()
    number = int(goal.id[1:])
    board.put_goal(goal)
    board.put_agenda(
        agenda.replaced(last_number=max(agenda.last_number, number), open=(*agenda.open, goal.id))
    )


def queue_goal(board: GoalBoard, goal: Goal, *, hops: int = 0, wait: timedelta = _AT_ONCE) -> None:
    """Begin a goal after `wait` if no other is active, else add it to the queue."""
    agenda = board.agenda()
    if agenda.current is None:
        waiting = tuple(other for other in agenda.waiting if other != goal.id)
        board.put_agenda(agenda.replaced(current=goal.id, waiting=waiting))
        begin_goal_turn(board, goal, hops=hops, wait=wait)
    elif agenda.current == goal.id:
        begin_goal_turn(board, goal, hops=hops, wait=wait)
    elif goal.id not in agenda.waiting:
        board.put_agenda(agenda.replaced(waiting=(*agenda.waiting, goal.id)))


def dequeue_goal_and_begin_next(
    board: GoalBoard, goal: Goal, prepare: Prepare | None = None
) -> None:
    """Remove an ended or paused goal from the queue; if it was active, begin the next.

    `prepare` is applied to a next goal that has never begun.
    """
    agenda = board.agenda()
    waiting = tuple(other for other in agenda.waiting if other != goal.id)
    still_open = agenda.open
    if goal.status.is_end:
        still_open = tuple(other for other in agenda.open if other != goal.id)
    if agenda.current != goal.id:
        changed = agenda.replaced(waiting=waiting, open=still_open)
        if changed != agenda:
            board.put_agenda(changed)
        return
    following = None
    while waiting and following is None:
        following, waiting = _startable(board, waiting[0], prepare), waiting[1:]
    board.put_agenda(
        agenda.replaced(
            current=following.id if following else None, waiting=waiting, open=still_open
        )
    )
    if following is not None:
        begin_goal_turn(board, following)


def _startable(board: GoalBoard, goal_id: str, prepare: Prepare | None) -> Goal | None:
    goal = board.goal(goal_id)
    if goal is None or goal.status.is_end or goal.pause is not None:
        return None
    return prepare(goal) if prepare is not None and goal.runs == 0 else goal


def begin_goal_turn(
    board: GoalBoard, goal: Goal, *, hops: int = 0, wait: timedelta = _AT_ONCE
) -> None:
    """Begin a goal's next turn: mark its task as active and add the turn's due item."""
    task = goal.next_task
    started = goal.replaced(
        status=GoalStatus.ACTIVE,
        runs=goal.runs + 1,
        reputation=goal.reputation if goal.runs else board.reputation(),
    )
    source_id = goal_turn_source(started)
    started = started.replaced(
        turn_id=turn_id(
            source=goal.door,
            principal=goal.principal_id,
            source_id=f"{goal.session_id}/{source_id}",
            agent_id=goal.agent_id,
        ),
    )
    if task is not None:
        active = task.replaced(
            status=TaskStatus.ACTIVE, turn_id=started.turn_id, turns=task.turns + 1
        )
        started = started.with_task(active)
    board.put_goal(started)
    item = _item(board, started, task, source_id, hops)
    board.due.append(item.replaced(at=board.now + wait))


def goal_turn_source(goal: Goal) -> str:
    """Return the source id of the message of a goal's newest turn."""
    return f"{goal.id}-{goal.runs}"


def _item(board: GoalBoard, goal: Goal, task: Task | None, source_id: str, hops: int) -> DueItem:
    first = goal.runs == 1
    instructed = first and goal.given
    sender = Sender(id=goal.principal_id, name=goal.principal_name or goal.principal_id)
    text = goal.instruction if instructed else _words(board.profile, goal, task)
    return DueItem(
        id=f"goal-{goal.agent_id}-{source_id}",
        at=board.now,
        session_id=goal.session_id,
        message=Message(
            source=goal.door,
            source_id=source_id,
            principal_id=goal.principal_id,
            sender=sender if instructed else OPENCRAB,
            authority=goal.authority,
            parts=(TextPart(text=_fitting(text)),),
            channel=_channel(board, goal),
        ),
        hops=hops,
        trigger=Trigger.MESSAGE if instructed else Trigger.CONTINUATION,
        task=goal.label,
        taint=goal.taint,
        session=goal_session(goal, board.now) if first else None,
    )


def _channel(board: GoalBoard, goal: Goal) -> Channel | None:
    """Return the channel of a goal's turn; for a self-set goal that of the agent's heartbeat.

    None during the cooldown after the heartbeat's last speech there, and for a tainted self-set
    goal.
    """
    heartbeat = board.profile.agent.heartbeat
    if goal.channel is not None or goal.authority is not Authority.SELF:
        return goal.channel
    if heartbeat.channel is None or goal.taint:
        return None
    stored = board.facts_port.get(goal.agent_id, VITALS, VITALS)
    signs = None if stored is None else stored.read(VitalSigns)
    silent = signs is not None and is_heartbeat_speech_in_cooldown(
        signs, heartbeat.channel.target, board.now
    )
    return None if silent else heartbeat.channel


def _words(profile: Profile, goal: Goal, task: Task | None) -> str:
    language = profile.agent.language
    if task is not None:
        return system_phrase("task_begins", language, task=task.id, name=task.name)
    if goal.stuck:
        return system_phrase("repair_due", language, goal=goal.id, name=goal.name, cause=goal.stuck)
    key = "report_due" if goal.tasks else "goal_begins"
    told = system_phrase(key, language, goal=goal.id, name=goal.name)
    described = "" if goal.given or goal.tasks else goal.instruction
    return f"{told}\n{described}".strip()


def _fitting(text: str) -> str:
    encoded = text.encode()
    return (
        text if len(encoded) <= MESSAGE_BYTES else encoded[:MESSAGE_BYTES].decode(errors="ignore")
    )


def goal_session(goal: Goal, now: datetime) -> Session:
    """Return the new session in which a goal is carried out."""
    return Session(
        id=goal.session_id,
        name=one_line(unicodedata.normalize("NFC", f"{goal.id} {goal.name}"), 100),
        goal=goal.id,
        participants=(Participant(agent_id=goal.agent_id),),
        created_by=goal.principal_id,
        created_at=now,
        updated_at=now,
    )
