"""What people see keeps to Discord's limits, and shows foreign words as they were written."""

import pytest

from opencrab.adapters.discord import rendering
from opencrab.domain.value import Language
from opencrab.engine.goals.progress import Standing
from opencrab.ports.conversation.channel import Panel, PanelRow

ROWS = (
    PanelRow("G1-T1", "珊瑚を数える", "done"),
    PanelRow("G1-T2", "Sort them", "active"),
    PanelRow("G1-T3", "Write it down", "fail"),
    PanelRow("G1-T4", "Tell", "pending"),
)


def panel(**changes: object) -> Panel:
    told: dict[str, object] = {
        "agent_id": "crab", "agent_name": "カニ", "goal": "G1", "name": "Tidy the reef",
        "language": Language.EN, "standing": "active", "percent": 40, "rows": ROWS, "note": "",
        "over": False,
    }  # fmt: skip
    return Panel(**{**told, **changes})  # type: ignore[arg-type]


def buttons(shown: Panel) -> list[str]:
    rows = rendering.discord_message_of_task_panel(shown)["components"]
    return [each["custom_id"] for row in rows for each in row["components"]]


def test_a_panel_shows_how_far_each_task_is() -> None:
    (embed,) = rendering.discord_message_of_task_panel(panel(note="resting"))["embeds"]
    assert embed["title"] == "G1 Tidy the reef"
    assert embed["description"] == (
        "▰▰▰▰▱▱▱▱▱▱ 40%\n✅ G1-T1 珊瑚を数える\n🔄 G1-T2 Sort them\n❌ G1-T3 Write it down\n"
        "⬜ G1-T4 Tell\n\nresting"
    )
    assert embed["footer"] == {"text": "カニ · Running"}


@pytest.mark.parametrize(("language", "word"), [(Language.JA, "完了"), (Language.EN, "Completed")])
def test_a_panel_speaks_the_agents_language(language: Language, word: str) -> None:
    shown = rendering.discord_message_of_task_panel(
        panel(language=language, standing="completed", over=True)
    )
    assert shown["embeds"][0]["footer"]["text"].endswith(word)


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("standing", list(Standing))
def test_every_standing_has_a_colour_and_a_word(standing: Standing, language: Language) -> None:
    embed = rendering.discord_message_of_task_panel(
        panel(standing=standing.value, language=language)
    )["embeds"][0]
    assert "…" not in embed["footer"]["text"]
    assert embed["color"] == rendering._COLOURS[standing.value]


@pytest.mark.parametrize(
    ("standing", "over", "moves"),
    [
        ("pending", False, ["cn", "pa"]),
        ("active", False, ["cn", "pa", "st"]),
        ("waiting", False, ["cn", "pa", "st"]),
        ("paused", False, ["re", "cn"]),
        ("completed", True, []),
        ("abandoned", True, []),
        ("completed", False, []),
    ],
)
def test_a_panel_offers_what_fits(standing: str, *, over: bool, moves: list[str]) -> None:
    shown = panel(standing=standing, over=over)
    assert buttons(shown) == [f"oc:{move}:crab:G1" for move in moves]


def test_ids_of_buttons_stay_within_discords_limit() -> None:
    for custom_id in buttons(panel(agent_id="a" * 64, goal="G99999999")):
        assert len(custom_id) <= 100


def test_a_name_that_holds_markup_is_shown_as_it_was_written() -> None:
    name = "[click](https://evil.example) **@everyone** <@1> `x` \u202egnp\n# big"
    told = str(
        rendering.discord_message_of_task_panel(
            panel(name=name, note=name, rows=(PanelRow("G1-T1", name, "done"),))
        )
    )
    for live in ("](", "https://", " **", " @", "<@", " `x", "\u202e", "\n# "):
        assert live not in told.replace("\\\\", "\\")


def test_a_panel_of_many_long_tasks_says_how_many_it_leaves_out() -> None:
    rows = tuple(PanelRow(f"G1-T{number}", "🦀*" * 500, "done") for number in range(50))
    shown = rendering.discord_message_of_task_panel(
        panel(name="🦀" * 500, agent_name="x" * 900, rows=rows, note="*" * 900)
    )
    (embed,) = shown["embeds"]
    parts = (embed["title"], embed["description"], embed["footer"]["text"])
    lengths = [len(part.encode("utf-16-le")) // 2 for part in parts]
    assert all(length <= most for length, most in zip(lengths, (256, 4_096, 2_048), strict=True))
    assert sum(lengths) <= 6_000
    assert "more" in embed["description"]


@pytest.mark.parametrize("percent", [-5, 0, 100, 250])
def test_a_bar_has_always_ten_cells(percent: int) -> None:
    bar = rendering.discord_message_of_task_panel(panel(percent=percent))["embeds"][0][
        "description"
    ].split()[0]
    assert len(bar) == 10
