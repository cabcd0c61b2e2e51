"""Secrets are found by their prefix or their entropy; words, hashes and references are not."""

import pytest

from infra.audit.leaks import find_leaks, judge

# Put together here, so that no file holds one whole.
RANDOM = "q8Zr4LxT0vB7" + "mWc2YhN5sKdE9uJg"
SECRETS = {
    "AWS access key": "AKIA" + "Q3EGRWZ7DKLMNOPQ",
    "Anthropic key": "sk-ant-" + f"api03-{RANDOM}",
    "OpenAI or OpenRouter key": "sk-or-v1-" + "0123456789abcdef" * 4,
    "Google key": "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "GitHub token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "Slack token": "xoxb-" + "123456789012-abcdef",
    "Discord bot token": "MTEwMDAwMDAwMDAwMDAwMDAwMA" + ".GabcDe." + RANDOM + "abc",
    "private key": "-----BEGIN EC PRIVATE " + "KEY-----\nMHcCAQEEIIGlRHU9abcd\n",
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "dozjgNryP4J3jVmN",
}


@pytest.mark.parametrize(("kind", "secret"), SECRETS.items(), ids=lambda each: str(each)[:12])
@pytest.mark.parametrize("around", ["{}", "x = '{}'", "鍵は {} です\n", '"k": "{}",'])
def test_a_vendors_prefix_is_enough(kind: str, secret: str, around: str) -> None:
    found = list(find_leaks("a.py", "# one\n" + around.format(secret)))
    assert kind in {leak.kind for leak in found}
    assert {leak.line for leak in found} == {2}
    assert secret not in "".join(map(str, found))


@pytest.mark.parametrize(
    "line",
    [
        "api_key = '{}'",
        "OPENCRAB_PASSWORD={}",
        '"clientSecret": "{}"',
        "discord_token: str = b'{}'",
        "access-key: {}",
    ],
)
def test_a_random_value_under_the_name_of_a_secret_is_found(line: str) -> None:
    text = line.replace("access-key", "access_key").format(RANDOM)
    assert [leak.kind for leak in find_leaks("a.toml", text)] == ["value of high entropy"]


@pytest.mark.parametrize("before", ["x = 1\n" * 99, f"digest = '{RANDOM}'; ", "no token ", "a=b="])
@pytest.mark.parametrize("name", ["the_secret_of_" + "x" * 150, "token"])
def test_a_random_value_is_found_behind_others(before: str, name: str) -> None:
    text = f"{before}{name} = '{RANDOM}'\npassword: {RANDOM}\n"
    found = list(find_leaks("a.toml", text))
    assert [leak.line for leak in found] == [text.count("\n") - 1, text.count("\n")]


@pytest.mark.parametrize(
    "line",
    [
        "token = 'the-token-of-the-session-that-is-open'",
        "token = make_token_for_the_session_1(settings)",
        "secret = settings.providers[0].some_long_name_2",
        "password = 'aaaaaaaaaaaaaaaaaaaaaaaa1'",
        f"digest = '{RANDOM}'",
        "api_key = 'sk-ant-canary'",
    ],
)
def test_words_code_and_other_values_are_no_secrets(line: str) -> None:
    assert not list(find_leaks("a.py", line))


def test_an_accepted_value_is_silent_and_an_unneeded_acceptance_is_not() -> None:
    leaks = list(find_leaks("a.py", SECRETS["AWS access key"]))
    accepted = {"path": "a.py", "fingerprint": leaks[0].fingerprint, "reason": "an example"}
    assert judge(leaks, [accepted]) == []
    assert judge([], [accepted]) == [f"a.py: {leaks[0].fingerprint} is accepted and nowhere"]
