"""What curiosity asked about lately, and what comes next."""

from datetime import UTC, datetime, timedelta

from opencrab.domain.autonomy.curiosity_subject import SOON, CuriosityHistory, SubjectKind

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)


def test_kinds_take_turns_and_those_never_asked_about_come_first() -> None:
    explored = CuriosityHistory()
    assert explored.kinds() == list(SubjectKind)
    explored = explored.after(SubjectKind.BELIEF, "b1", NOW)
    explored = explored.after(SubjectKind.FILE, "f1", NOW + timedelta(hours=1))
    assert explored.kinds() == [
        *(SubjectKind.KNOWLEDGE, SubjectKind.MEMORY, SubjectKind.PEER),
        *(SubjectKind.BELIEF, SubjectKind.FILE),
    ]
    assert explored.read_to == {SubjectKind.BELIEF: "b1", SubjectKind.FILE: "f1"}


def test_the_same_subject_does_not_come_again_soon() -> None:
    explored = CuriosityHistory().after(SubjectKind.BELIEF, "b1", NOW)
    late = timedelta(microseconds=1)
    assert not explored.is_due(SubjectKind.BELIEF, "b1", NOW + SOON - late)
    assert explored.is_due(SubjectKind.BELIEF, "b1", NOW + SOON)
    assert explored.is_due(SubjectKind.BELIEF, "b1", NOW - late), "the clock was set back"
    assert explored.is_due(SubjectKind.MEMORY, "b1", NOW)


def test_what_was_asked_about_is_kept_for_a_time_and_within_a_size() -> None:
    explored = CuriosityHistory().after(SubjectKind.BELIEF, "old", NOW - SOON)
    for number in range(150):
        at = NOW + timedelta(minutes=number)
        explored = explored.after(SubjectKind.BELIEF, f"b{number}", at)
    assert len(explored.asked) == 100
    assert min(explored.asked.values()) == NOW + timedelta(minutes=50)
