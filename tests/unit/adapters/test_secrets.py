"""Secrets on AWS: read once for a while, kept through a failure, and never shown."""

import json
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from opencrab.adapters.secrets import (
    ATTEMPTS,
    MOST_SECRETS,
    SecretsManagerSecrets,
    SsmSecrets,
    secret_store_from_settings,
)
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.ports.access.secrets import Secrets
from tests.aws import Account, account
from tests.aws_faults import Fault, Go, answer_is_lost, never_arrives, refuses
from tests.contract.example import NOW

SSM = "ssm:/opencrab/dev/"
MANAGER = "secretsmanager:opencrab/dev"
KEY = "sk-絶対に秘密"
PLAIN = "sk-plain-canary"

each_place = pytest.mark.parametrize("place", [SSM, MANAGER])


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def aws(clock: FakeClock) -> Iterator[Account]:
    with account(clock) as opened:
        opened.client("secretsmanager").create_secret(Name="opencrab/dev", SecretString="{}")
        yield opened


def store(aws: Account, **values: str) -> None:
    """These secrets in both places."""
    for name, value in values.items():
        aws.client("ssm").put_parameter(
            Name=f"/opencrab/dev/{name}", Value=value, Type="SecureString", Overwrite=True
        )
    aws.client("secretsmanager").put_secret_value(
        SecretId="opencrab/dev", SecretString=json.dumps(values)
    )


def opened(aws: Account, clock: FakeClock, place: str) -> Secrets:
    return secret_store_from_settings(place, clock, aws.client)


@each_place
def test_a_secret_is_found_by_its_name(aws: Account, clock: FakeClock, place: str) -> None:
    store(aws, OPENAI_API_KEY=KEY, OTHER="二")
    secrets = opened(aws, clock, place)
    assert secrets.get("OPENAI_API_KEY") == KEY
    assert secrets.get("OTHER") == "二"
    assert secrets.get("NOWHERE") is None


def test_all_pages_of_a_path_are_read(aws: Account, clock: FakeClock) -> None:
    store(aws, **{f"KEY_{number}": str(number) for number in range(25)})
    secrets = opened(aws, clock, SSM)
    assert [secrets.get(f"KEY_{number}") for number in (0, 12, 24)] == ["0", "12", "24"]


def test_a_path_without_parameters_has_no_secrets(aws: Account, clock: FakeClock) -> None:
    assert opened(aws, clock, "ssm:/opencrab/empty").get("OPENAI_API_KEY") is None


@each_place
def test_secrets_are_read_again_after_five_minutes(
    aws: Account, clock: FakeClock, place: str
) -> None:
    store(aws, KEY="old")
    secrets = opened(aws, clock, place)
    assert secrets.get("KEY") == "old"
    store(aws, KEY="new")
    clock.advance(299)
    assert secrets.get("KEY") == "old"
    clock.advance(1)
    assert secrets.get("KEY") == "new"


@each_place
def test_old_secrets_outlive_a_failure(
    aws: Account, clock: FakeClock, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    store(aws, KEY=KEY)
    secrets = opened(aws, clock, place)
    assert secrets.get("KEY") == KEY
    store(aws, KEY="new")
    clock.advance(301)
    aws.fails(refuses(400, "ThrottlingException"))
    with caplog.at_level(logging.DEBUG, "opencrab"):
        assert secrets.get("KEY") == KEY
        assert secrets.get("KEY") == KEY
    assert "ThrottlingException" in caplog.text
    assert KEY not in caplog.text
    clock.advance(31)
    assert secrets.get("KEY") == "new"


@each_place
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (refuses(400, "ThrottlingException"), (Unavailable, "wait")),
        (refuses(500, "InternalServerError"), (Unavailable, "wait")),
        (never_arrives, (Unavailable, "wait")),
        (answer_is_lost, (Unavailable, "wait")),
        (refuses(400, "AccessDeniedException"), (Unavailable, "allow")),
        (refuses(400, "UnrecognizedClientException"), (Unavailable, "credentials")),
    ],
)
def test_a_first_failure_names_the_place_and_the_cure(
    aws: Account, clock: FakeClock, place: str, fault: Fault, expected: tuple[Any, str]
) -> None:
    kind, cure = expected
    store(aws, KEY=KEY)
    secrets = opened(aws, clock, place)
    aws.fails(fault)
    with pytest.raises(kind) as raised:
        secrets.get("KEY")
    assert place.rstrip("/") in raised.value.message
    assert cure in (raised.value.cure or "")
    assert secrets.get("KEY") == KEY


def test_a_secret_that_does_not_exist_is_named(aws: Account, clock: FakeClock) -> None:
    with pytest.raises(Unavailable, match="secretsmanager:nowhere"):
        opened(aws, clock, "secretsmanager:nowhere").get("KEY")


@pytest.mark.parametrize(
    "document", [KEY, f'["{KEY}"]', f'{{"a": ["{KEY}"]}}', '{"a": 1}', "[" * 9_999]
)
def test_a_document_of_another_form_is_refused_without_showing_it(
    aws: Account, clock: FakeClock, document: str
) -> None:
    aws.client("secretsmanager").put_secret_value(SecretId="opencrab/dev", SecretString=document)
    with pytest.raises(Unavailable, match="not a JSON object with string values") as raised:
        opened(aws, clock, MANAGER).get("a")
    assert KEY not in raised.value.message
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


@each_place
def test_too_many_secrets_are_refused(aws: Account, clock: FakeClock, place: str) -> None:
    store(aws, **{f"K{number}": "v" for number in range(MOST_SECRETS + 1)})
    with pytest.raises(Unavailable, match="more than 100"):
        opened(aws, clock, place).get("K1")


@pytest.mark.parametrize("place", ["", "ssm:", "ssm:opencrab", "secretsmanager:", "vault:x", KEY])
def test_a_place_of_unknown_form_is_invalid(clock: FakeClock, place: str) -> None:
    with pytest.raises(Invalid, match="not a valid secrets location") as raised:
        secret_store_from_settings(place, clock, lambda service: None)
    assert raised.value.field == "aws.secrets"


def test_only_the_client_that_is_needed_is_made(clock: FakeClock) -> None:
    made: list[str] = []
    assert isinstance(secret_store_from_settings(SSM, clock, made.append), SsmSecrets)
    assert isinstance(
        secret_store_from_settings(MANAGER, clock, made.append), SecretsManagerSecrets
    )
    assert made == ["ssm", "secretsmanager"]


@each_place
def test_no_form_of_it_shows_a_value(aws: Account, clock: FakeClock, place: str) -> None:
    store(aws, KEY=KEY)
    secrets = opened(aws, clock, place)
    assert secrets.get("KEY") == KEY
    assert KEY not in f"{secrets!r} {secrets} {vars(secrets)}"
    assert "opencrab/dev" in repr(secrets)


@each_place
def test_what_is_kept_is_found_here_at_once_and_there_soon(
    aws: Account, clock: FakeClock, place: str
) -> None:
    here, there = opened(aws, clock, place), opened(aws, clock, place)
    assert there.get("A_KEY") is None
    here.put("A_KEY", PLAIN)
    here.put("B_KEY", "b")
    assert (here.get("A_KEY"), here.get("B_KEY"), there.get("A_KEY")) == (PLAIN, "b", None)
    there.forget()
    assert (there.get("A_KEY"), there.get("B_KEY")) == (PLAIN, "b")
    there.put("A_KEY", "new")
    clock.advance(301)
    assert (here.get("A_KEY"), here.get("B_KEY")) == ("new", "b")


def test_a_parameter_is_kept_encrypted(aws: Account, clock: FakeClock) -> None:
    opened(aws, clock, SSM).put("A_KEY", "x" * 8_192)
    stored = aws.client("ssm").get_parameter(Name="/opencrab/dev/A_KEY")["Parameter"]
    assert stored["Type"] == "SecureString"


def test_a_parameter_may_lie_at_the_top(aws: Account, clock: FakeClock) -> None:
    opened(aws, clock, "ssm:/").put("A_KEY", PLAIN)
    assert opened(aws, clock, "ssm:/").get("A_KEY") == PLAIN


@each_place
def test_forgotten_secrets_outlive_a_failure_as_well(
    aws: Account, clock: FakeClock, place: str
) -> None:
    secrets = opened(aws, clock, place)
    secrets.forget()
    secrets.put("A_KEY", PLAIN)
    secrets.forget()
    aws.fails(refuses(500, "InternalServerError"))
    assert secrets.get("A_KEY") == PLAIN


@each_place
@pytest.mark.parametrize(("name", "value"), [("a_key", PLAIN), ("A_KEY", "秘密"), ("A_KEY", "")])
def test_what_cannot_be_kept_is_refused_before_anybody_is_asked(
    aws: Account, clock: FakeClock, place: str, name: str, value: str
) -> None:
    aws.fails(never_arrives)
    with pytest.raises(Invalid):
        opened(aws, clock, place).put(name, value)


@each_place
def test_one_too_many_is_refused_and_the_others_stay_readable(
    aws: Account, clock: FakeClock, place: str
) -> None:
    store(aws, **{f"K{number}": "v" for number in range(MOST_SECRETS)})
    secrets = opened(aws, clock, place)
    with pytest.raises(Unavailable, match="more than 100"):
        secrets.put("ONE_MORE", PLAIN)
    secrets.put("K1", "new")
    assert opened(aws, clock, place).get("K1") == "new"


@each_place
@pytest.mark.parametrize(
    ("fault", "cure"),
    [
        (refuses(400, "AccessDeniedException", f"Value '{PLAIN}' is bad"), "allow"),
        (refuses(400, "ValidationException", f"Value '{PLAIN}' is bad"), "SecureString"),
        (refuses(400, "ThrottlingException", PLAIN), "wait"),
        (refuses(400, "UnrecognizedClientException", PLAIN), "credentials"),
        (answer_is_lost, "wait"),
    ],
)
def test_a_change_that_fails_names_the_cure_and_shows_nothing(
    aws: Account, clock: FakeClock, place: str, fault: Fault, cure: str
) -> None:
    permission = {SSM: "ssm:PutParameter", MANAGER: "secretsmanager:PutSecretValue"}[place]
    secrets = opened(aws, clock, place)
    reads = 2 if place == MANAGER else 1
    aws.fails(*[lets_through] * reads, fault)
    with pytest.raises(Unavailable) as raised:
        secrets.put("A_KEY", PLAIN)
    assert place.rstrip("/") in raised.value.message
    assert cure in (raised.value.cure or "")
    assert cure != "allow" or permission in (raised.value.cure or "")
    assert PLAIN not in f"{raised.value} {raised.value.cure}"
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)
    secrets.put("A_KEY", PLAIN)
    assert secrets.get("A_KEY") == PLAIN


def lets_through(_request: AWSPreparedRequest, go: Go) -> AWSResponse | None:
    return go()


class Crowded:
    """Secrets Manager, where others act right after some of the calls."""

    def __init__(self, aws: Account, *acts: Callable[[], object] | None) -> None:
        self._client = aws.client("secretsmanager")
        self._acts = deque(acts)

    def __call__(self, _service: str) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        def call(**arguments: Any) -> Any:
            answer = getattr(self._client, name)(**arguments)
            act = self._acts.popleft() if self._acts else None
            if act is not None:
                act()
            return answer

        return call


def held(aws: Account) -> dict[str, str]:
    """What the secret holds now."""
    answer = aws.client("secretsmanager").get_secret_value(SecretId="opencrab/dev")
    values: dict[str, str] = json.loads(answer["SecretString"])
    return values


@pytest.mark.parametrize("at", range(5))
def test_of_two_who_change_one_secret_neither_loses_anything(
    aws: Account, clock: FakeClock, at: int
) -> None:
    store(aws, OLD="old")
    other = opened(aws, clock, MANAGER)
    crowded = Crowded(aws, *[None] * at, lambda: other.put("B_KEY", "b"))
    secret_store_from_settings(MANAGER, clock, crowded).put("A_KEY", PLAIN)
    assert held(aws) == {"OLD": "old", "A_KEY": PLAIN, "B_KEY": "b"}


def test_a_change_over_ours_by_hand_is_seen_and_ours_is_made_again(
    aws: Account, clock: FakeClock
) -> None:
    crowded = Crowded(aws, None, None, lambda: store(aws, OTHER="by hand"))
    secret_store_from_settings(MANAGER, clock, crowded).put("A_KEY", PLAIN)
    assert held(aws) == {"OTHER": "by hand", "A_KEY": PLAIN}


def test_who_never_gets_a_word_in_gives_up(aws: Account, clock: FakeClock) -> None:
    acts = [lambda: store(aws, OTHER="by hand"), None] * ATTEMPTS
    with pytest.raises(Unavailable, match="too many concurrent updates"):
        secret_store_from_settings(MANAGER, clock, Crowded(aws, None, None, *acts)).put(
            "A_KEY", PLAIN
        )
    assert held(aws) == {"OTHER": "by hand"}
