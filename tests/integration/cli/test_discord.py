"""Setting a bot up at the terminal: a real server, a Discord with its rules, and the real relay."""

import json
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from opencrab.adapters.system_clock import FakeClock, SystemClock
from opencrab.gateways.discord_relay.relay import lowest_discord_relay_id_at
from tests.discord.fake import GUILD_ID, OWNER, SERVER_CHANNEL, FakeDiscord
from tests.integration.cli.house import OPENCRAB, SECONDS, House, running
from tests.unit.gateways.discord_relay.gateway import HERE, Gateway

HERE_IN_SERVER = SERVER_CHANNEL.channel_id
RELAY_TOKEN = "MTAwMA.x.y"


@pytest.fixture(scope="module")
def discord() -> Iterator[FakeDiscord]:
    with FakeDiscord(FakeClock(datetime(2026, 2, 17, 9, tzinfo=UTC))) as discord:
        yield discord


@pytest.fixture(scope="module")
def reef(discord: FakeDiscord, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """OpenCrab with a bot, and an agent."""
    more = {
        "OPENCRAB_GATEWAY__DISCORD__ENABLED": "true",
        "OPENCRAB_GATEWAY__DISCORD__API": discord.url,
        "OPENCRAB_GATEWAY__DISCORD__APPLICATION_ID": discord.application_id,
        "OPENCRAB_GATEWAY__DISCORD__PUBLIC_KEY": discord.public_key,
        "OPENCRAB_GATEWAY__DISCORD__OWNER_IDS": OWNER.id,
        "DISCORD_TOKEN": discord.token,
    }
    with running(tmp_path_factory.mktemp("reef"), more=more) as house:
        house.run("agents", "create", "--name", "さくら", "--language", "ja")
        yield house


def test_commands_are_registered_once(reef: House, discord: FakeDiscord) -> None:
    shown = reef.run("discord", "register", "--guild", GUILD_ID)
    assert (shown.code, "+ /ask" in shown.out, "--yes" in shown.err) == (2, True, True)
    done = reef.run("discord", "register", "--yes", LANG="ja_JP.UTF-8")
    assert (done.code, "登録しました" in done.out) == (0, True)
    again = reef.run("discord", "register", "--json")
    difference = json.loads(again.out)
    assert difference["added"] == difference["changed"] == difference["removed"] == []
    assert "/ask" in difference["same"]
    assert discord.complaints == []


def test_an_agent_is_given_a_channel_and_the_doctor_looks_at_it(reef: House) -> None:
    given = reef.run("discord", "agent", "さくら", "--channel", HERE_IN_SERVER)
    assert f"{HERE_IN_SERVER} (hears mentions, writes)" in given.out
    found = reef.run("discord", "doctor", LANG="ja_JP.UTF-8")
    assert "✓ トークン: Bot は OpenCrab" in found.out
    assert f"✓ チャンネル {HERE_IN_SERVER}: #channel-" in found.out
    assert "✗ エンドポイント: コマンドとボタンの操作の送り先" in found.out
    assert "Discord に登録されていません\n  → " in found.out
    assert found.code == 1


def test_the_invitation_is_a_link(reef: House, discord: FakeDiscord) -> None:
    assert f"client_id={discord.application_id}&scope=bot" in reef.run("discord", "invite").out


def test_where_discord_is_off_every_command_says_so(house: House) -> None:
    for command in ("register", "invite"):
        said = house.run("discord", command)
        assert (said.code, "docs/how-to/set-up-a-discord-bot.md" in said.err) == (5, True)
    assert house.run("discord", "doctor").code == 1


def first_session(house: House) -> str:
    """The id of the first session, as soon as there is one."""
    for _ in range(SECONDS):
        for session in json.loads(house.run("sessions", "list", "--json").out):
            return str(session["id"])
    raise AssertionError("no session was opened")


def test_the_relay_brings_a_message_and_ends_by_ctrl_c(reef: House) -> None:
    reef.run("discord", "agent", "さくら", "--channel", HERE, "--everything")
    with Gateway() as gateway:
        gateway.on_ready = lambda _: gateway.say(
            lowest_discord_relay_id_at(SystemClock().now()), "おはよう"
        )
        environment = {
            **reef.environment,
            "OPENCRAB_DATA": str(reef.data),
            "OPENCRAB_GATEWAY__DISCORD__API": gateway.url,
            "DISCORD_TOKEN": RELAY_TOKEN,
        }
        relay = subprocess.Popen(
            [str(OPENCRAB), "discord", "relay"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=reef.folder,
        )
        try:
            listed = first_session(reef)
            relay.send_signal(signal.SIGINT)
            out, err = relay.communicate(timeout=SECONDS)
        finally:
            relay.kill()
            relay.wait()
    assert out.startswith("relaying from Discord to http://127.0.0.1:")
    assert "connected to Discord as opencrab" in err
    assert "Traceback" not in err
    lines = json.loads(reef.run("sessions", "show", listed, "--json").out)["lines"]
    assert lines[0]["text"] == "おはよう"
    assert lines[0]["speaker_name"] == "花子"
