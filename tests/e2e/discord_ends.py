"""Ends: what people must have seen when a play on Discord is over, whatever went wrong in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from opencrab.adapters.discord.channel import NONCE_KNOWN
from opencrab.domain.conversation.message import DeliveryState, Utterance
from opencrab.domain.discord.community import TOKEN_LIVES
from opencrab.gateways.discord.interactions.acks import NOT_TAKEN
from tests.crash.outside import Reply
from tests.discord.fake import OWNER
from tests.discord.state import Interaction, Place
from tests.e2e.discord_house import DiscordHouse

LONG = "\n\n".join(
    f"{n}. " + "深い海の底には、まだ誰も見たことのない蟹が暮らしています。" * 30 for n in range(3)
)


@dataclass(frozen=True)
class Scene:
    """What is asked of the agent, how it answers, and what is seen of that, in order."""

    name: str
    replies: tuple[Reply, ...]
    texts: tuple[str, ...]
    guest: bool = False
    rings: int = 0
    command: str = "ask"
    shows: bool = True

    @property
    def options(self) -> dict[str, str]:
        """What is given to the command beside the agent."""
        return {"ask": {"text": "?"}, "task": {"instruction": "メモを整理して"}}.get(
            self.command, {}
        )


@dataclass
class End:
    """A scene that is over, and what is held against it."""

    house: DiscordHouse
    scene: Scene
    place: Place
    interaction: Interaction

    def wrong(self) -> list[str]:
        """Everything that should not be so."""
        self.house.discord.wait(0)
        return [
            *self.house.problems,
            *self.house.discord.complaints,
            *self._of_texts(),
            *self._of_states(),
            *self._of_answer(),
            *self._of_preview(),
        ]

    @cached_property
    def speech(self) -> list[Utterance]:
        """What was said in this place, or was to be."""
        channel_id = self.place.channel_id
        found = self.house.utterances()
        return [each for each in found if channel_id in each.channel.address]

    @property
    def marked(self) -> list[Utterance]:
        """Speech of which nobody can know whether it was seen."""
        return [each for each in self.speech if each.state is DeliveryState.INDETERMINATE]

    @property
    def unheard(self) -> bool:
        """Whether the asker saw that nothing was taken, and nothing was."""
        told = NOT_TAKEN["ja"] in self.interaction.text
        return not self.speech and (self.interaction.standing == "failed" or told)

    @property
    def is_over(self) -> bool:
        """Whether the token was worth nothing any more when there was something to say."""
        end = self.interaction.created_at + TOKEN_LIVES
        late = any(each.updated_at >= end for each in self.speech)
        asked = self.house.discord.requests(self.interaction.token)
        return late or any(each.status == 401 for each in asked)

    @property
    def is_nowhere(self) -> bool:
        """Whether a guest had nothing left to speak by."""
        return self.place.guest and (self.is_over or self.interaction.standing == "failed")

    @cached_property
    def shown(self) -> list[str]:
        """The texts that are seen, as far as the scene knows them."""
        messages = self.house.discord.shown(self.place, OWNER)
        texts = [each.content for each in messages if not each.is_loading]
        if self.scene.name == "long":
            return [text for text in texts if "蟹" in text]
        firsts = [text.partition("\n")[0] for text in texts]
        return [text for text in firsts if text in self.scene.texts]

    def _of_texts(self) -> Iterator[str]:
        if len(set(self.shown)) != len(self.shown):
            yield f"twice: {self.shown}"
        if not (self.unheard or self.is_nowhere) and not self._is_all_seen():
            yield f"lost: {self.shown} {[each.state for each in self.speech]}"

    def _is_all_seen(self) -> bool:
        if any(each.approval is not None for each in self.marked):
            return True
        if self.scene.name == "long":
            return bool(self.marked) or "".join("".join(self.shown).split()) == "".join(
                LONG.split()
            )
        excused = {each.text.partition("\n")[0] for each in self.marked} - set(self.shown)
        return self.shown == [text for text in self.scene.texts if text not in excused]

    def _of_states(self) -> Iterator[str]:
        for each in self.speech:
            if not each.state.is_end:
                yield f"unfinished: {each.state}"
            if each.state is DeliveryState.FAILED and not self.is_nowhere:
                yield f"failed: {each.error}"
        for each in self.marked:
            if self._is_harmless(each):
                yield f"marked in vain: {each!r}"
        if len(self.house.bell.rings) > self.scene.rings:
            yield f"rang {len(self.house.bell.rings)} times"

    def _of_answer(self) -> Iterator[str]:
        messages = self.interaction.messages
        if self.unheard or self.is_over or self.interaction.standing == "failed":
            return
        if not self.marked and any(each.is_loading for each in messages):
            yield "it thinks for ever"
        if self.scene.shows and not any(each.content or each.embeds for each in messages):
            yield "nothing is shown"
        panels = [each.embeds[0] for each in messages if each.embeds]
        if self.scene.command == "task" and not all(_is_completed(each) for each in panels):
            yield f"the panel stays: {panels}"

    def _of_preview(self) -> Iterator[str]:
        """What was shown while the model wrote gives way to what is said at last."""
        if self.is_nowhere or self.marked:
            return
        for each in self.house.discord.shown(self.place, OWNER):
            if each.content.endswith("⏳") or "oc:sp:" in str(each.components):
                yield f"the preview stays: {each.content}"

    def _is_harmless(self, utterance: Utterance) -> bool:
        """Whether a repeat would have been: Discord knows the place, or the nonce."""
        since, now = utterance.since, utterance.updated_at
        if since is None:
            return False
        end = self.interaction.created_at + TOKEN_LIVES
        if since < end <= now:
            return False
        is_answer = utterance.opens and utterance.piece == 0 and now < end
        return is_answer or (not self.place.guest and now - since < NONCE_KNOWN)


def _is_completed(panel: dict[str, dict[str, str]]) -> bool:
    return "完了" in panel["footer"]["text"]
