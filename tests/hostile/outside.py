"""What lies outside: actions that touch others, pages, a search service, a wall; all keep books."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from opencrab.actions import GROUPS, Group, Registry
from opencrab.adapters.web.fetch import HttpPages
from opencrab.domain.access.impact import Impact
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Text, Value
from opencrab.ports.conversation.channel import Panel
from opencrab.ports.skills import StandardSkills
from opencrab.ports.turn.action import Action, ActionContext, one_line
from opencrab.ports.web import WebResult
from tests.hostile import words
from tests.unit.adapters.web.net import Net, moved, reply

Judge = Callable[[Action, Any, ActionContext], None]
"""Looks at a call in the moment in which its action begins to run."""


class Publish(Value):
    page: Annotated[Text, Field(max_length=2_000)] = ""
    level: int = 1


class Gong(Value):
    tone: Annotated[Text, Field(max_length=200)] = "dong"


def outside_group() -> Group:
    """Actions of every effect that touch others."""
    group = Group("outside")

    @group.action(
        impact=Impact.EXTERNAL,
        effect=Effect.ONCE,
        sentences=("Publish {page}", "「{page}」を公開する"),
        ja="ページを公開します。",
        touches=lambda arguments: one_line(arguments.page, 100),
    )
    def publish_page(arguments: Publish, context: ActionContext) -> ActionResult:
        """Publish a page for everybody."""
        return ActionResult.ok(published=True)

    @group.action(
        impact=Impact.SHARED,
        effect=Effect.ONCE,
        sentences=("Ring the gong {tone}", "銅鑼を鳴らす: {tone}"),
        ja="銅鑼を鳴らします。",
    )
    def ring_gong(arguments: Gong, context: ActionContext) -> ActionResult:
        """Ring the gong that everybody hears."""
        return ActionResult.ok(rang=arguments.tone)

    @group.action(
        impact=Impact.SHARED,
        effect=Effect.TRANSACTIONAL,
        sentences=("Pin a note: {tone}", "メモを貼る: {tone}"),
        ja="みんなの掲示板にメモを貼ります。",
    )
    def pin_note(arguments: Gong, context: ActionContext) -> ActionResult:
        """Pin a note to the board of everybody."""
        return ActionResult.ok(pinned=True)

    @group.action(
        impact=Impact.SELF,
        effect=Effect.ONCE,
        sentences=("Pinch oneself", "つねる"),
        ja="自分をつねります。",
        impact_of=lambda arguments, _context: (
            Impact.EXTERNAL if arguments.level > 1 else Impact.SELF
        ),
    )
    def pinch(arguments: Publish, context: ActionContext) -> ActionResult:
        """Pinch yourself, or with a level above 1 somebody else."""
        return ActionResult.ok(ouch=arguments.level)

    return group


def watched_registry(skills: StandardSkills, judge: Judge) -> Registry:
    """All actions of the product and those above, each looked at before it runs."""
    groups = (*GROUPS, outside_group())
    return Registry((watched_group(group, judge) for group in groups), skills)


def watched_group(group: Group, judge: Judge) -> Group:
    """A group whose actions are each looked at before they run."""
    watched = Group(group.name)
    watched.actions = [watched_action(action, judge) for action in group.actions]
    return watched


def watched_action(action: Action, judge: Judge) -> Action:
    """An action that is looked at before it runs."""

    def run(arguments: Any, context: ActionContext) -> ActionResult:
        judge(action, arguments, context)
        return action.run(arguments, context)

    return replace(action, run=run)


class Internet:
    """A made-up internet of foreign pages, redirects into the house, and names that lie."""

    def __init__(self, dice: random.Random, mint: words.Mint, asked: Callable[[str], None]) -> None:
        self._dice, self._mint, self._asked = dice, mint, asked
        self.net = Net(self._answer)
        self.numbers: list[str] = []

    def pages(self) -> HttpPages:
        """The product's own fetching over it."""
        return self.net.pages(*words.ALLOWED)

    def _answer(self, url: str) -> list[bytes]:
        self._asked(url)
        dice = self._dice
        if dice.random() < 0.25:
            return moved(words.url(dice, self._mint()).encode("ascii", "ignore").decode() or "/")
        body = f"{self._mint()} {dice.choice(words.INJECTIONS)} {self._mint()}"
        lies = dice.choice((("127.0.0.1",), ("93.184.215.14", "10.0.0.1"), ("93.184.215.14",)))
        self.net.numbers = {"docs.example.org": lies if dice.random() < _LYING else OPEN}
        return reply(body.encode("utf-8", "replace"), dice.choice(("text/plain", "text/html")))


_LYING = 0.3
OPEN = ("93.184.215.14",)


class SearchService:
    """`ports.web.SearchEngine`: results that anybody may have written."""

    def __init__(self, mint: words.Mint, asked: Callable[[str], None]) -> None:
        self._mint, self._asked = mint, asked

    def search(self, query: str, limit: int) -> tuple[WebResult, ...]:
        self._asked(query)
        return (WebResult(self._mint(), "https://evil.example/", words.INJECTIONS[1]),) * limit


class Wall:
    """A channel that pushes: what is shown on it is public."""

    def __init__(self, shown: Callable[[str], None]) -> None:
        self._shown = shown

    def piece_count(self, utterance: Utterance) -> int:
        return 1

    def is_idempotent(self, utterance: Utterance) -> bool:
        return True

    def show(self, place: Place, panel: Panel) -> None:
        self._shown("\n".join((panel.name, panel.note, *(row.name for row in panel.rows))))

    def send(self, utterance: Utterance) -> None:
        self._shown(utterance.text)


class OwnSecrets:
    """`ports.secrets.Secrets` with keys that nobody must ever see."""

    def __init__(self, values: dict[str, str]) -> None:
        self._values = values

    def get(self, name: str) -> str | None:
        return self._values.get(name)

    def put(self, name: str, value: str) -> None:
        self._values[name] = value

    def forget(self) -> None:
        """Nothing is kept elsewhere."""
