"""Dates in questions, in Japanese and in English."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.text.dates import MOST_SPANS, times_named_in_text

NOW = datetime(2026, 11, 30, 3, tzinfo=UTC)
"""A Monday, noon in Tokyo."""

TOKYO = "Asia/Tokyo"


def _days(text: str, now: datetime = NOW, zone: str = TOKYO) -> list[tuple[str, str]]:
    """The first and the last day of each time named."""
    here = ZoneInfo(zone)
    found = times_named_in_text(text, now, zone).spans
    return [
        (
            f"{each.since.astimezone(here):%Y-%m-%d}",
            f"{(each.until - timedelta(seconds=1)).astimezone(here):%Y-%m-%d}",
        )
        for each in found
    ]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Where was Elise on 31 Dec 2023?", "2023-12-31", "2023-12-31"),
        ("On May 3, 2023, who came?", "2023-05-03", "2023-05-03"),
        ("the 3rd of June 2023", "2023-06-03", "2023-06-03"),
        ("2026-11-29 と言えば", "2026-11-29", "2026-11-29"),
        ("2026/11", "2026-11-01", "2026-11-30"),
        ("July 7th", "2026-07-07", "2026-07-07"),
        ("What did Maria do in December 2023?", "2023-12-01", "2023-12-31"),
        ("December", "2025-12-01", "2025-12-31"),
        ("in May", "2026-05-01", "2026-05-31"),
        ("in march last year", "2025-03-01", "2025-03-31"),
        ("in 2023", "2023-01-01", "2023-12-31"),
        ("last Friday", "2026-11-27", "2026-11-27"),
        ("on Monday", "2026-11-30", "2026-11-30"),
        ("last Monday", "2026-11-23", "2026-11-23"),
        ("last weekend", "2026-11-28", "2026-11-29"),
        ("yesterday", "2026-11-29", "2026-11-29"),
        ("the day  before yesterday", "2026-11-28", "2026-11-28"),
        ("last month", "2026-10-01", "2026-10-31"),
        ("two days ago", "2026-11-28", "2026-11-28"),
        ("3 weeks ago", "2026-11-06", "2026-11-12"),
        ("a year ago", "2025-01-01", "2025-12-31"),
        ("between June 3, 2023 and June 10, 2023", "2023-06-03", "2023-06-10"),
        ("先週の金曜に何を話した?", "2026-11-27", "2026-11-27"),
        ("先々週の水曜日", "2026-11-18", "2026-11-18"),
        ("この前の月曜", "2026-11-23", "2026-11-23"),
        ("昨日の会議", "2026-11-29", "2026-11-29"),
        ("おととい", "2026-11-28", "2026-11-28"),
        ("先週末", "2026-11-28", "2026-11-29"),
        ("先月15日の件", "2026-10-15", "2026-10-15"),
        ("先月の話", "2026-10-01", "2026-10-31"),
        ("三日前", "2026-11-27", "2026-11-27"),
        ("2か月ほど前", "2026-09-01", "2026-09-30"),
        ("2023年6月3日", "2023-06-03", "2023-06-03"),
        ("十二月二十四日", "2025-12-24", "2025-12-24"),
        ("6月3日の件", "2026-06-03", "2026-06-03"),
        ("去年の6月", "2025-06-01", "2025-06-30"),
        ("令和5年4月", "2023-04-01", "2023-04-30"),
        ("6月1日から6月3日", "2026-06-01", "2026-06-03"),
        ("今年の話", "2026-01-01", "2026-12-31"),
        ("2024/٣/٤", "2024-03-04", "2024-03-04"),
        ("٣ days ago", "2026-11-27", "2026-11-27"),
        ("३月", "2026-03-01", "2026-03-31"),
        ("did we meet this may in Kyoto?", "2026-05-01", "2026-05-31"),
        ("きのう、なにした?", "2026-11-29", "2026-11-29"),
        ("わたしはきょうなにをした?", "2026-11-30", "2026-11-30"),
    ],
)
def test_a_time_is_read_as_it_is_said(text: str, first: str, last: str) -> None:
    assert _days(text) == [(first, last)]


@pytest.mark.parametrize(
    "text",
    [
        "may I ask you something?",
        "the sun is nice, march on",
        "version 3.11 with 1999 things",
        "毎日の散歩",
        "曜日を教えて",
        "月が綺麗",
        "3日間の旅",
        "0月",
        "did someone say this may break the build?",
        "the plan for next june",
        "来週の金曜の予定",
        "来年の5月",
        "来年の十一月",
        "来年の11月3日",
        "今日子は何が好き?",
        "五月雨",
        "おべんきょうはすき?",
        "とうきょうにいく",
        "きょうだいはいる?",
        "さっきのうた",
        "",
        "🦀",
    ],
)
def test_other_words_name_no_time(text: str) -> None:
    assert times_named_in_text(text, NOW, TOKYO) == ((), text)


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("What did April say?", "April", []),
        ("What did \uff21PRIL say in June?", "April", [("2026-06-01", "2026-06-30")]),
        ("What did April say on 3 April?", "April", [("2026-04-03", "2026-04-03")]),
        ("五月さんは元気?", "五月", []),
        ("五月さんは五月五日に何をした?", "五月", [("2026-05-05", "2026-05-05")]),
        ("6月3日の件", "月", [("2026-06-03", "2026-06-03")]),
        ("昨日", "", [("2026-11-29", "2026-11-29")]),
    ],
)
def test_a_name_is_no_time(text: str, name: str, found: list[tuple[str, str]]) -> None:
    here = ZoneInfo(TOKYO)
    spans = times_named_in_text(text, NOW, TOKYO, names=[name]).spans
    told = [
        (each.since.astimezone(here), each.until.astimezone(here) - timedelta(days=1))
        for each in spans
    ]
    assert [(f"{first:%Y-%m-%d}", f"{last:%Y-%m-%d}") for first, last in told] == found


def test_a_day_is_one_of_the_askers_zone() -> None:
    late = datetime(2026, 11, 30, 20, tzinfo=UTC)
    assert _days("today", late, "UTC") == [("2026-11-30", "2026-11-30")]
    assert _days("今日", late, TOKYO) == [("2026-12-01", "2026-12-01")]
    (span,) = times_named_in_text("昨日", NOW, TOKYO).spans
    assert span.since == datetime(2026, 11, 28, 15, tzinfo=UTC)
    assert span.holds(span.since)
    assert not span.holds(span.until)


def test_what_else_is_said_remains() -> None:
    assert times_named_in_text("Elise on 31 Dec 2023?", NOW).rest.split() == ["elise", "on", "?"]
    assert times_named_in_text("先週の金曜の会議", NOW, TOKYO).rest.strip() == "の会議"


def test_days_that_do_not_exist_and_far_years_name_nothing() -> None:
    assert _days("2023-02-31") == []
    assert _days("31 February 2023") == [("2023-02-01", "2023-02-28")]
    assert _days("99999999 days ago, 999 years ago") == []
    assert _days("February 29") == [("2024-02-29", "2024-02-29")]


def test_only_the_first_times_of_a_question_count() -> None:
    text = ", ".join(f"{day} May 2023" for day in range(1, 20, 2))
    assert len(times_named_in_text(text, NOW).spans) == MOST_SPANS


@given(st.dates(date(1990, 1, 1), date(2026, 11, 30)))
def test_any_date_is_read_in_every_spelling(day: date) -> None:
    said = (
        f"{day:%Y-%m-%d}",
        f"{day.day} {day:%B} {day.year}",
        f"{day:%b} {day.day}, {day.year}",
        f"{day.year}年{day.month}月{day.day}日",
    )
    for text in said:
        assert _days(text) == [(f"{day:%Y-%m-%d}", f"{day:%Y-%m-%d}")], text


@given(st.text(alphabet="年月日週先昨今去前の一二十0123٣२ -/,:aeinlmorstuyMJDF", max_size=60))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for span in times_named_in_text(text, NOW, TOKYO).spans:
        assert span.before < span.since < span.until < span.after
