"""Goal generation: the goals that an agent sets itself, from each of its sources.

The caller commits the board's documents and due items.
"""

from datetime import datetime, timedelta

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import Profile
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.agents.heartbeat import agent_time_zone
from opencrab.domain.autonomy import curiosity
from opencrab.domain.autonomy.settings import Autonomy
from opencrab.domain.autonomy.vital_signs import VITALS, VitalSigns
from opencrab.domain.goals.goal import Goal, GoalSource, GoalStatus
from opencrab.domain.goals.selection import AT_ONCE, PROMISES, open_goal_limit
from opencrab.domain.goals.value_estimate import Horizon, ValueEstimate
from opencrab.domain.identifier import stable_id
from opencrab.domain.money.budget import Limits, agent_budget_scope
from opencrab.domain.value import Value
from opencrab.engine.goals.earlier_goals import earlier_goals_text, ended_own_goals
from opencrab.engine.goals.generation_text import (
    aspiration_text,
    goal_text,
    social_goal_text,
    survival_goal_text,
)
from opencrab.engine.goals.planned_goals import (
    aspirations_to_pursue,
    count_planned_goal,
    goal_step_texts,
    has_fresh_planned_goal,
    planned_event_goal_texts,
    settle_planned_goals,
)
from opencrab.engine.goals.queue import GoalBoard, add_goal_to_queue, dequeue_goal_and_begin_next
from opencrab.engine.goals.selection import (
    begin_or_queue_goal,
    count_goals_from,
    running_goals,
)
from opencrab.engine.goals.social.reasons import find_social_goal_reason, social_goal_mentioner
from opencrab.engine.runtime import Runtime
from opencrab.engine.world.binding import world_balance
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.money.budgets import Budgets
from opencrab.ports.turn.action import one_line

_NAME = 200
_LOOKED_AT = 50
"""The most events that one review reads."""

STEPS = 12
"""The curiosity intervals between two next steps towards an aspiration."""

_SOCIAL_PAUSE = timedelta(days=1)
_PATIENCE = timedelta(hours=1)
"""Time that a mention stays unanswered before answering it becomes a goal."""


class _GoalDraft(Value):
    """The draft of a goal that an agent is about to set itself."""

    source: GoalSource
    name: str
    words: str
    worth: ValueEstimate
    horizon: Horizon = Horizon.OBJECTIVE
    deadline: datetime | None = None
    taint: bool = False


def generate_goals(
    runtime: Runtime, board: GoalBoard, now: datetime, signs: VitalSigns | None = None
) -> tuple[Goal, ...]:
    """Generate goals from all sources except curiosity; none of them begins yet.

    Returns none if the agent does not act without being asked.
    """
    if not board.profile.agent.heartbeat.acts_on_its_own:
        return ()
    made = (
        generate_survival_goal(runtime, board, now),
        *generate_aspirations(board, now),
        generate_social_goal(runtime.home, runtime.rules.autonomy, board, now, signs),
    )
    seized = generate_goals_from_events(runtime, board, now)
    zone = agent_time_zone(board.profile.agent.heartbeat, runtime.rules.time_zone)
    stepped = generate_next_step_goal(runtime.rules.autonomy, board, now, zone)
    return (*(goal for goal in (*made, stepped) if goal is not None), *seized)


def generate_exploration_goal(runtime: Runtime, board: GoalBoard, now: datetime) -> Goal | None:
    """Generate the goal to explore one unknown subject, or the unknown at large, and begin it.

    None if one is open, another goal is active, there is no room, or the last one ended too
    recently: the pause is the curiosity threshold times the interval.
    """
    if board.agenda().current is not None:
        return None
    board.open_goals()
    last, language = (
        board.expectations().ended_at(GoalSource.CURIOSITY),
        board.profile.agent.language,
    )
    patience = curiosity.autonomy_curiosity_threshold(board.profile.soul.weights.risk_tolerance)
    if (
        last is not None
        and last <= now < last + patience * runtime.rules.autonomy.curiosity_interval
    ):
        return None
    wish = _wish(board, GoalSource.CURIOSITY, *goal_text(GoalSource.CURIOSITY, language))
    if not _has_room(board, wish):
        return None
    # Only when an agent explores, and not for every worker.
    from opencrab.engine.goals.curiosity.subject import find_curiosity_reason  # noqa: PLC0415

    reason = find_curiosity_reason(runtime, board, now)
    if reason is not None:
        wish = _wish(board, GoalSource.CURIOSITY, reason.name, reason.words)
        wish = wish.replaced(taint=reason.tainted)
        board.add_document(reason.asked)
    goal = _put_up(board, wish, now)
    return None if goal is None else begin_or_queue_goal(board, goal)


def generate_survival_goal(runtime: Runtime, board: GoalBoard, now: datetime) -> Goal | None:
    """Generate a goal to spend less if the day's budget or the world's balance is low.

    At most one ends per day, and one that has not begun is cancelled when there is enough again.
    Returns None if none was generated.
    """
    left = _left_percent(runtime.home.budgets, runtime.rules.limits, board, now)
    autonomy = runtime.rules.autonomy
    owns = _world_balance(runtime.home.facts, board.profile)
    poor = owns is not None and owns < autonomy.survival_balance
    if left >= autonomy.survival_percent and not poor:
        for goal in _of(board, GoalSource.SURVIVAL):
            if goal.runs == 0:
                _give_up(board, goal, now)
        return None
    board.open_goals()
    last = board.expectations().ended_at(GoalSource.SURVIVAL)
    if last is not None and last.date() == now.date():
        return None
    language = board.profile.agent.language
    name, words = goal_text(GoalSource.SURVIVAL, language, percent=left)
    if poor:
        words = survival_goal_text(language, owns or 0)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    wish = _wish(board, GoalSource.SURVIVAL, name, words).replaced(deadline=midnight)
    return _put_up(board, wish, now)


def generate_aspirations(board: GoalBoard, now: datetime) -> tuple[Goal, ...]:
    """Make the owner's standing instructions and the agent's purpose its aspirations.

    Those with an older wording are given up. Returns the new ones.
    """
    wanted = _wanted_aspirations(board)
    for goal in _own_aspirations(board):
        draft = wanted.get(goal.name)
        # A long wording may have changed behind what its name shows.
        if draft is not None and (_is_named_whole(draft) or draft.words == goal.instruction):
            del wanted[goal.name]
        else:
            _give_up(board, goal, now)
    made = (_put_up(board, draft, now) for draft in wanted.values())
    return tuple(goal for goal in made if goal is not None)


def generate_goals_from_events(
    runtime: Runtime, board: GoalBoard, now: datetime
) -> tuple[Goal, ...]:
    """Generate goals from new events: opportunities, and those that instructions wait for.

    Each event is read once.
    """
    board.open_goals()
    before = board.expectations()
    agent = board.profile.agent
    events = runtime.home.facts.page(agent.id, HAPPENING, after=before.noticed, limit=_LOOKED_AT)
    if not events:
        return ()
    made = [
        _put_up(board, wish, now)
        for fact in events
        for wish in _drafts_for_event(board, fact.read(AgentEvent))
    ]
    board.put_expectations(board.expectations().replaced(noticed=events[-1].id))
    return tuple(goal for goal in made if goal is not None)


def generate_social_goal(
    home: Home,
    autonomy: Autonomy,
    board: GoalBoard,
    now: datetime,
    signs: VitalSigns | None = None,
) -> Goal | None:
    """Generate a goal to answer an old mention, to help a peer, or to meet one.

    At most one is open, and a day passes between them.
    """
    if _of(board, GoalSource.SOCIAL):
        return None
    last = board.expectations().ended_at(GoalSource.SOCIAL)
    if last is not None and now - last < _SOCIAL_PAUSE:
        return None
    if signs is None:
        stored = home.facts.get(board.profile.agent.id, VITALS, VITALS)
        signs = None if stored is None else stored.read(VitalSigns)
    wish = _reply_wish(home, board, signs, now)
    if wish is not None:
        return _put_up(board, wish, now)
    reason = find_social_goal_reason(home, autonomy, board, now)
    if reason is None:
        return None
    name, words = social_goal_text(reason.key, board.profile.agent.language, reason.who)
    wish = _wish(board, GoalSource.SOCIAL, name, words)
    goal = _put_up(board, wish.replaced(taint=reason.tainted), now)
    if goal is not None and reason.read is not None:
        board.add_document(reason.read)
    return goal


def generate_next_step_goal(
    autonomy: Autonomy, board: GoalBoard, now: datetime, zone: str = "UTC"
) -> Goal | None:
    """Generate an objective towards one of the aspirations, if no objective is open.

    STEPS curiosity intervals pass since the last goal of this source ended, except for an
    aspiration that is newer: what an owner asks for now begins now. Otherwise they take turns.
    """
    goals, pause = board.open_goals(), STEPS * autonomy.curiosity_interval
    aspired = aspirations_to_pursue(board, _own_aspirations(board), _asked_name(board), now)
    if not aspired or any(goal.horizon is Horizon.OBJECTIVE for goal in goals):
        return None
    last, fresh = board.expectations().ended_at(GoalSource.ROLE), has_fresh_planned_goal(board)
    new = [goal for goal in aspired if last is None or goal.created_at > last]
    if not (new or fresh) and last is not None and last <= now < last + pause:
        return None
    ended = ended_own_goals(board)
    settle_planned_goals(board, ended)
    texts = goal_step_texts(
        board, new[:1] or aspired, _asked_name(board), fresh_only=fresh and not new
    )
    steps = [_wish(board, GoalSource.ROLE, *text) for text in texts]
    if not steps:
        return None
    # The one that has waited longest; those before the newest goals have.
    done = [goal.name for goal in ended]
    wish = max(steps, key=lambda step: done.index(step.name) if step.name in done else len(done))
    told = earlier_goals_text(ended, wish.name, board.profile.agent.language, zone)
    wish = wish.replaced(words=wish.words + told, deadline=now + pause)
    goal = _put_up(board, wish, now)
    if goal is not None:
        count_planned_goal(board, goal)
    return goal


def _asked_name(board: GoalBoard) -> str:
    """Return the name of the aspiration that the owner's standing instructions are."""
    return one_line(board.profile.agent.heartbeat.instructions.strip(), _NAME)


def _own_aspirations(board: GoalBoard) -> list[Goal]:
    """Return the aspirations that the agent set itself, the oldest first."""
    return [
        goal
        for goal in _of(board, GoalSource.ROLE)
        if goal.horizon is Horizon.ASPIRATION and goal.authority is Authority.SELF
    ]


def _wanted_aspirations(board: GoalBoard) -> dict[str, _GoalDraft]:
    """Return the drafts of the aspirations that the agent should have, by name."""
    agent = board.profile.agent
    texts = (agent.heartbeat.instructions.strip(), agent.purpose)
    # What has no visible character is no aspiration.
    return {name: _aspiration(board, each) for each in texts if (name := one_line(each, _NAME))}


def _aspiration(board: GoalBoard, text: str) -> _GoalDraft:
    name = one_line(text, _NAME)
    whole = "" if len(name) < _NAME else text
    words = aspiration_text(board.profile.agent.language, whole, asked=name == _asked_name(board))
    wish = _wish(board, GoalSource.ROLE, name, words)
    return wish.replaced(horizon=Horizon.ASPIRATION)


def _is_named_whole(draft: _GoalDraft) -> bool:
    """Check whether the name of an aspiration says all of it."""
    return len(draft.name) < _NAME


def _world_balance(facts: Documents, profile: Profile) -> int | None:
    """Return the agent's balance in its world; None for an agent without a world."""
    agent = profile.agent
    return None if agent.world is None else world_balance(facts, agent.id)


def _wish(board: GoalBoard, source: GoalSource, name: str, words: str) -> _GoalDraft:
    """Return a goal draft; its expected reward comes from experience with its source."""
    board.open_goals()
    first = PROMISES[source]
    reward = board.expectations().reward(source, first.expected_reward)
    worth = first.replaced(expected_reward=reward)
    return _GoalDraft(source=source, name=one_line(name, _NAME), words=words, worth=worth)


def _chance(board: GoalBoard, event: AgentEvent) -> _GoalDraft:
    language = board.profile.agent.language
    what = one_line(event.text or event.type, _NAME // 2)
    name, words = goal_text(GoalSource.OPPORTUNITY, language, what=what)
    wish = _wish(board, GoalSource.OPPORTUNITY, name, words)
    return wish.replaced(taint=event.tainted)


def _drafts_for_event(board: GoalBoard, event: AgentEvent) -> list[_GoalDraft]:
    texts = planned_event_goal_texts(board, event)
    wishes = [_wish(board, GoalSource.ROLE, *text).replaced(taint=event.tainted) for text in texts]
    return wishes or ([_chance(board, event)] if event.opportunity else [])


def _reply_wish(
    home: Home, board: GoalBoard, signs: VitalSigns | None, now: datetime
) -> _GoalDraft | None:
    mention = None if signs is None else signs.mention
    if mention is None or now - mention.at < _PATIENCE:
        return None
    who = social_goal_mentioner(home, mention)
    name, words = social_goal_text("mention", board.profile.agent.language, who)
    wish = _wish(board, GoalSource.SOCIAL, name, words)
    return wish.replaced(taint=True)


def _has_room(board: GoalBoard, wish: _GoalDraft) -> bool:
    """Check whether the agent acts unasked and has room for one more goal like this."""
    goals = board.open_goals()
    alike = sum(goal.horizon is wish.horizon for goal in goals)
    full = alike >= open_goal_limit(wish.horizon, Authority.SELF)
    enough = count_goals_from(running_goals(goals), wish.source) >= AT_ONCE.get(
        wish.source, len(goals) + 1
    )
    return board.profile.agent.heartbeat.acts_on_its_own and not (full or enough)


def _put_up(board: GoalBoard, wish: _GoalDraft, now: datetime) -> Goal | None:
    """Open a goal from its draft; None if there is no room or the agent may not act unasked."""
    if not _has_room(board, wish):
        return None
    agent = board.profile.agent
    number = board.agenda().last_number + 1
    goal = Goal(
        id=f"G{number}",
        agent_id=agent.id,
        session_id=stable_id("own-goal", agent.id, wish.source, f"G{number}"),
        name=wish.name,
        instruction=wish.words,
        source=wish.source,
        horizon=wish.horizon,
        worth=wish.worth,
        deadline=wish.deadline,
        authority=Authority.SELF,
        door=Source.HEARTBEAT,
        principal_id=agent.id,
        principal_name=agent.name,
        taint=wish.taint,
        created_at=now,
    )
    add_goal_to_queue(board, goal)
    return goal


def _give_up(board: GoalBoard, goal: Goal, now: datetime) -> None:
    ended = goal.replaced(status=GoalStatus.ABANDONED, pause=None, ended_at=now)
    board.put_goal(ended)
    dequeue_goal_and_begin_next(board, ended)


def _of(board: GoalBoard, source: GoalSource) -> list[Goal]:
    return [goal for goal in board.open_goals() if goal.source is source]


def _left_percent(budgets: Budgets, limits: Limits, board: GoalBoard, now: datetime) -> int:
    """Return the unspent share of the agent's daily budget in percent; 100 for a budget of 0."""
    agent = board.profile.agent
    most = agent.day_limit_micro_usd
    if most is None:
        most = limits.changed(budgets.limits()).agent_day_micro_usd
    if most <= 0:
        return 100
    drawn = budgets.drawn_micro_usd(agent_budget_scope(agent.id), now.strftime("%Y-%m-%d"))
    return max(100 * (most - drawn) // most, 0)
