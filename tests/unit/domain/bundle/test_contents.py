"""Contents: a document in a bundle names no place of the installation that it comes from."""

from datetime import UTC, datetime

from opencrab.domain.autonomy.schedule import ScheduleDraft, new_schedule
from opencrab.domain.bundle.contents import SELF, bundled_document
from opencrab.domain.conversation.message import Channel
from opencrab.domain.goals.goal import Goal

NOW = datetime(2026, 11, 30, tzinfo=UTC)
DISCORD = Channel(kind="discord", address="1234567890")


def test_a_goal_reports_to_no_channel_of_the_installation_before() -> None:
    goal = Goal(
        id="G1",
        agent_id="hana",
        session_id="s1",
        name="潮を記録する",
        principal_id="owner",
        channel=DISCORD,
        turn_id="t1",
        created_at=NOW,
    )
    found = bundled_document(goal)
    assert isinstance(found, Goal)
    assert (found.channel, found.turn_id) == (None, None)
    assert (found.agent_id, found.session_id, found.principal_id) == (SELF, SELF, SELF)
    assert found.name == "潮を記録する"


def test_a_schedule_speaks_in_no_channel_of_the_installation_before() -> None:
    draft = ScheduleDraft(name="朝", when="0 9 * * *", instructions="朝の挨拶", channel=DISCORD)
    found = bundled_document(new_schedule("daily", "hana", draft, NOW))
    assert "1234567890" not in found.model_dump_json()
    assert "朝の挨拶" in found.model_dump_json()
