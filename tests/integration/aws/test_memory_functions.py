"""The functions for memory as Lambda calls them: records of the table's stream, and messages."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends

from opencrab import settings
from opencrab.adapters.dynamodb.home import stores_on_dynamodb_table
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.system_clock import FakeClock, SystemClock
from opencrab.bootstrap.aws.deployed_models import aws_transport_of_process
from opencrab.bootstrap.aws.environment import _table_named
from opencrab.bootstrap.aws.functions import (
    aws_message_admission,
    lambda_compaction_worker,
    lambda_text_embedder,
)
from opencrab.bootstrap.aws.search import (
    aws_embedder_of_process,
    aws_search_from_settings,
    aws_search_of_process,
    lambda_vpc_searcher,
)
from opencrab.bootstrap.aws.search_indexer import lambda_search_indexer
from opencrab.bootstrap.aws.uploaded_settings import UploadedSettings
from opencrab.domain.agents.agent import Agent, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.memory.memory import MEMORY
from opencrab.domain.models.optimization import Aim
from opencrab.domain.models.routing import LlmConfig
from opencrab.domain.turn.turn import Trigger
from opencrab.domain.value import Language
from opencrab.engine.learning.report.files import NightReport
from opencrab.ports.home import Home
from opencrab.ports.memory.search import Search, SearchQuery
from tests.aws import REGION, Account, account
from tests.aws_home import create_table, dispatch_in, home_on
from tests.contract.example import NOW
from tests.deployed.stack import SECRETS
from tests.deployed.vendor import KEY_NAME, Vendor, vendor_at_work
from tests.lived import Life
from tests.unit.bootstrap.aws.test_uploaded_settings import Shelf
from tests.unit.gateways.function import Call, own_log

WORDS = [
    ("灯台の鍵は青い箱にあります", "灯台の鍵はどこ?"),
    ("The key is in the blue box", "which box?"),
]
LANGUAGES = pytest.mark.parametrize(("text", "question"), WORDS)


class Deployed:
    """An installation in an account of this process, with the functions' environment set."""

    life: Life
    bucket: str
    dead_summaries: str
    summaries: str

    def __init__(self, opened: Account, home: Home, table: str) -> None:
        self.opened, self.home, self.table = opened, home, table
        self._told = 0

    def records(self) -> dict[str, Any]:
        """What the stream has told since the last look, as Lambda hands it over."""
        backend = dynamodb_backends[DEFAULT_ACCOUNT_ID][REGION]
        shard = backend.tables[self.table].stream_shard
        assert shard is not None
        every = [one.to_json() for one in shard.items]
        new, self._told = every[self._told :], len(every)
        return {"Records": new}

    def snapshots(self) -> list[str]:
        """The keys of what is published."""
        found = self.opened.client("s3").list_objects_v2(Bucket=self.bucket, Prefix="search/")
        return [each["Key"] for each in found.get("Contents", [])]


@pytest.fixture
def deployed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    clock = FakeClock(NOW)
    with account(clock) as opened, own_log():
        table = create_table(opened)
        home = home_on(Table(table, dispatch_in(opened)), opened, clock)
        made = Deployed(opened, home, table)
        made.life = Life(home, clock)
        made.bucket = opened.bucket("memory")
        names = ("turns", "deliveries", "compactions", "beats", "nights")
        queues = {name: opened.queue(f"deployed-{name}") for name in names}
        made.dead_summaries = queues["compactions"].dead_url
        made.summaries = queues["compactions"].url
        places = {"TABLE": table, "BUCKET": made.bucket, "SECRETS": "ssm:/opencrab/dev/"}
        for name, urls in queues.items():
            places[f"{name.upper()}_QUEUE"] = urls.url
            places[f"{name.upper()}_DEAD_QUEUE"] = urls.dead_url
        for name, value in places.items():
            monkeypatch.setenv(f"OPENCRAB_AWS__{name}", value)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "made-up")
        monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
        # Where a function has its temporary storage; Python offers this place to say so.
        monkeypatch.setitem(vars(tempfile), "tempdir", str(tmp_path))
        made.life.meet("s1", "hana")
        yield made
    _table_named.cache_clear()


def searching() -> Search:
    """The search of a function that runs turns, in a process that has just begun."""
    return aws_search_from_settings(settings.load_settings({}), SystemClock())


def texts(search: Search, question: str) -> list[str]:
    return [each.row.text for each in search.search("hana", SearchQuery(question))]


@LANGUAGES
def test_the_indexer_publishes_what_the_stream_tells_and_a_turn_begins_there(
    deployed: Deployed, text: str, question: str
) -> None:
    deployed.life.say(text)
    assert texts(searching(), question) == [text], "what nobody has indexed is found"
    lambda_search_indexer()(deployed.records())
    assert deployed.snapshots() == ["search/hana/index.db"]
    began = searching()
    assert texts(began, question) == [text]
    assert began.status("hana").published_rows == 1


def test_a_restored_table_is_not_searched_with_the_snapshot_of_the_old_one(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It uses line numbers again: the old snapshot would take its new lines for known."""
    deployed.life.say("the crab of the old table")
    lambda_search_indexer()(deployed.records())
    restored = create_table(deployed.opened, "restored")
    stores = stores_on_dynamodb_table(Table(restored, dispatch_in(deployed.opened)))
    home = replace(deployed.home, sessions=stores.sessions, journal=stores.journal)
    life = Life(home, deployed.life.clock)
    life.meet("s1", "hana")
    life.say("the crab of the new table")
    monkeypatch.setenv("OPENCRAB_AWS__TABLE", restored)
    assert texts(searching(), "crab") == ["the crab of the new table"]


def test_the_same_records_again_and_in_any_order_change_nothing(deployed: Deployed) -> None:
    follow = lambda_search_indexer()
    for text, _ in WORDS:
        deployed.life.say(text)
    event = deployed.records()
    follow(event)
    before = searching().status("hana")
    follow({"Records": event["Records"][::-1]})
    after = searching().status("hana")
    assert (after.rows, after.lines) == (before.rows, before.lines)


@LANGUAGES
def test_a_memory_that_is_removed_goes_from_the_snapshot(
    deployed: Deployed, text: str, question: str
) -> None:
    follow = lambda_search_indexer()
    memory_id = deployed.life.remember(text)
    follow(deployed.records())
    assert searching().status("hana").published_rows == 1
    deployed.life.remove(MEMORY, memory_id)
    assert texts(searching(), question) == []
    follow(deployed.records())
    assert searching().status("hana").published_rows == 0


def test_records_of_other_things_wake_nobody(deployed: Deployed) -> None:
    lambda_search_indexer()(deployed.records())
    lambda_search_indexer()({"Records": []})
    assert deployed.snapshots() == []


@LANGUAGES
def test_the_function_on_efs_follows_and_answers(
    deployed: Deployed,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    text: str,
    question: str,
) -> None:
    monkeypatch.setenv("OPENCRAB_AWS__SEARCH_FOLDER", str(tmp_path / "efs"))
    monkeypatch.delenv("OPENCRAB_AWS__BUCKET")
    answer = lambda_vpc_searcher()
    deployed.life.say(text)
    assert answer(deployed.records()) is None
    assert len(list((tmp_path / "efs" / "hana").glob("*.snapshot"))) == 1
    asked = {"v": 1, "ask": "search", "agent": "hana", "query": {"text": question}}
    told = answer(asked)
    assert told is not None
    assert [each["row"]["text"] for each in told["found"]] == [text]


@pytest.mark.parametrize(
    "body", ["これは何でしょう", '{"v":2}', '{"v":1,"agent":"gone","session":"s1"}']
)
def test_a_message_that_asks_for_no_summary_is_put_among_the_dead(
    deployed: Deployed, body: str
) -> None:
    attributes = {"ApproximateReceiveCount": "1", "MessageGroupId": "s1"}
    record = {"messageId": "m", "receiptHandle": "r", "body": body, "attributes": attributes}
    assert lambda_compaction_worker()({"Records": [record]}, Call()) == {"batchItemFailures": []}
    given = {"QueueUrl": deployed.dead_summaries}
    (letter,) = deployed.opened.client("sqs").receive_message(**given)["Messages"]
    assert letter["Body"] == body


def test_the_words_of_a_nights_report_are_a_turn_of_the_function_that_makes_summaries(
    deployed: Deployed,
) -> None:
    home, period = (
        aws_message_admission(settings.load_settings({}), SystemClock()).home,
        "daily-2026-11-21",
    )
    llm = LlmConfig(aim=Aim(worded=True))
    agent = Agent(
        id="hana",
        name="花",
        language=Language.JA,
        model="scripted:rules",
        llm=llm,
        created_at=NOW,
        updated_at=NOW,
    )
    profile = Profile(agent=agent, soul=Soul(persona_name="花"), identity=Identity(name="花"))
    deployed.home.agents.create(profile)
    report = NightReport(home, "hana", period, SystemClock().now() + timedelta(days=1))
    report.put(Language.JA, "# 花の学習記録\n\n1 ターン\n\n## 予算内か\n\nはい。\n")
    compact = lambda_compaction_worker()
    bodies = [f'{{"v":1,"agent":"hana","period":"{period}"}}']
    while bodies:
        attributes = {"ApproximateReceiveCount": "1", "MessageGroupId": "g"}
        record = {"messageId": "m", "receiptHandle": "r", "attributes": attributes}
        event = {"Records": [{**record, "body": bodies.pop()}]}
        assert compact(event, Call()) == {"batchItemFailures": []}
        found = deployed.opened.client("sqs").receive_message(QueueUrl=deployed.summaries)
        bodies += [each["Body"] for each in found.get("Messages", [])]
    text = report.written(Language.JA)
    assert text.startswith("# 花の学習記録\n\n1 ターン\n\n## 自分の言葉で\n\n")
    assert text.endswith("\n\n## 予算内か\n\nはい。\n")
    (row,) = home.usage.rows("hana", since=SystemClock().now() - timedelta(hours=1), limit=9)
    assert (row.model, row.trigger) == ("rules", Trigger.COMPACTION)


MEANT = pytest.mark.parametrize(
    ("said", "asked"),
    [("公園で犬が走った", "puppy"), ("A dog ran across the park", "わんこ")],
    ids=["en to ja", "ja to en"],
)


@pytest.fixture
def vendor(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendor]:
    """A vendor of embeddings, whose key is kept where the functions read it, and an agent."""
    deployed.opened.client("ssm").put_parameter(
        Name=f"/opencrab/dev/{KEY_NAME}", Value=SECRETS[KEY_NAME], Type="SecureString"
    )
    hana = Agent(id="hana", name="花", language=Language.JA, created_at=NOW, updated_at=NOW)
    profile = Profile(agent=hana, soul=Soul(persona_name="花"), identity=Identity(name="花"))
    deployed.home.agents.create(profile)
    aws_transport_of_process.cache_clear()
    with vendor_at_work() as made:
        for name, value in made.embedding_environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("OPENCRAB_SEARCH__VECTORS", "true")
        yield made
        assert not made.complaints
    aws_embedder_of_process().use(None)
    aws_transport_of_process.cache_clear()


def worker_search() -> Search:
    """The search of a worker, in a process that asks a model for vectors of questions."""
    configured = settings.load_settings({})
    return aws_search_of_process(
        configured,
        SystemClock(),
        lambda: lambda_text_embedder(configured, settings.load_settings, lambda: False),
    )


def paid() -> list[tuple[Trigger, int]]:
    """What the ledger says of embeddings."""
    now = SystemClock().now()
    home = aws_message_admission(settings.load_settings({}), SystemClock()).home
    rows = home.usage.rows("hana", since=now - timedelta(hours=1), limit=99)
    return [(row.trigger, row.cost) for row in rows]


@MEANT
def test_with_vectors_the_indexer_pays_for_them_and_a_worker_finds_by_meaning(
    deployed: Deployed, vendor: Vendor, said: str, asked: str
) -> None:
    deployed.life.say(said)
    lambda_search_indexer()(deployed.records())
    assert vendor.embedded == [said]
    status = worker_search().status("hana")
    assert (status.vectors, status.vector_model) == (1, "openai:text-embedding-3-large")
    assert texts(worker_search(), asked) == [said]
    assert vendor.embedded == [said, asked]
    assert [trigger for trigger, cost in paid() if cost > 0] == [Trigger.EMBEDDING] * 2


def test_what_cannot_be_paid_for_is_indexed_by_its_words(
    deployed: Deployed, vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCRAB_BUDGET__INSTALLATION_DAY_USD", "0")
    deployed.life.say("公園で犬が走った")
    lambda_search_indexer()(deployed.records())
    assert vendor.embedded == []
    assert texts(worker_search(), "犬が走った") == ["公園で犬が走った"]
    assert texts(worker_search(), "puppy") == []
    assert paid() == []


def test_a_file_may_turn_vectors_off_and_the_indexer_follows_it(
    deployed: Deployed, vendor: Vendor
) -> None:
    uploaded = UploadedSettings(Shelf(b"[search]\nvectors = false\n"), None, lambda: 0.0)
    follow = lambda_search_indexer(uploaded)
    deployed.life.say("公園で犬が走った")
    follow(deployed.records())
    assert vendor.embedded == []
    assert texts(searching(), "犬が走った") == ["公園で犬が走った"]
