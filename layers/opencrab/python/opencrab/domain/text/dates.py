"""Dates in a question, in Japanese and in English: which times it asks about.

Questions are about the past: a month or day without a year is the latest one that has begun. No
library is used: those that know Japanese read neither 先週の金曜 nor a month alone, and take tens
of milliseconds to load.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

MOST_SPANS = 4
"""The most times of one question that count, the first ones."""

_NEAR = timedelta(days=4)
_LONGEST = 1_000
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_KANJI_WEEKDAYS = "月火水木金土日"
_ENGLISH_NUMBERS = tuple(
    "a one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
)
_KANJI_DIGITS = {each: number for number, each in enumerate("〇一二三四五六七八九")}
_REIWA, _EARLIEST, _LATEST = 2018, 1970, 2200


class TimeSpan(NamedTuple):
    """A time that a question names: from `since` until before `until`, in UTC.

    From `before` until `after` is near it: people tell of a day on the next one, and misremember.
    """

    since: datetime
    until: datetime
    before: datetime
    after: datetime

    def holds(self, moment: datetime) -> bool:
        """Check whether a moment is in the span."""
        return self.since <= moment < self.until

    def is_near(self, moment: datetime) -> bool:
        """Check whether a moment is in the span or a few days away."""
        return self.before <= moment < self.after


class NamedTimes(NamedTuple):
    """The times that a question names, and what else it says."""

    spans: tuple[TimeSpan, ...]
    rest: str


class _Days(NamedTuple):
    """Days that a text names, from the first until before the end, and where it does so."""

    first: date
    end: date
    start_at: int
    end_at: int


def times_named_in_text(
    text: str, now: datetime, zone: str = "UTC", *, names: Iterable[str] = ()
) -> NamedTimes:
    """Return the times that a question names, on the clock of a time zone.

    `now` has a zone. Of a day that does not exist (31 February) its month counts. What is a part of
    one of the `names` is no time (April, 今日子).
    """
    folded = _fold(text[:_LONGEST])
    if not _hint().search(folded):
        return NamedTimes((), text)
    here = ZoneInfo(zone)
    called = tuple(_places_of_names(folded, names))
    found = _days_named(folded, now.astimezone(here).date(), called)
    rest = folded
    for each in found:
        rest = f"{rest[: each.start_at]}{' ' * (each.end_at - each.start_at)}{rest[each.end_at :]}"
    spans = tuple(_span(each, here) for each in _join_ranges(folded, found)[:MOST_SPANS])
    return NamedTimes(spans, rest + text[_LONGEST:] if spans else text)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _places_of_names(text: str, names: Iterable[str]) -> Iterator[range]:
    """Yield where a text has one of some names."""
    for name in filter(None, map(str.strip, map(_fold, names))):
        yield from (range(*match.span()) for match in re.finditer(re.escape(name), text))


def _span(days: _Days, here: ZoneInfo) -> TimeSpan:
    moments = (days.first, days.end, days.first - _NEAR, days.end + _NEAR)
    begun = (datetime.combine(each, time.min, here).astimezone(UTC) for each in moments)
    return TimeSpan(*begun)


def _join_ranges(text: str, found: list[_Days]) -> list[_Days]:
    """Return the days named, with `from … to …` as one."""
    joined = list[_Days]()
    for each in found:
        before = joined[-1] if joined else None
        between = text[before.end_at : each.start_at] if before else ""
        if before and before.first <= each.first and _between().fullmatch(between):
            joined[-1] = before._replace(end=max(before.end, each.end), end_at=each.end_at)
        else:
            joined.append(each)
    return joined


def _days_named(text: str, today: date, called: tuple[range, ...]) -> list[_Days]:
    """Return what each pattern finds, in the order of the text; the earlier pattern wins."""
    found, taken = list[_Days](), list[range]()
    for pattern, days in _patterns():
        for match in pattern.finditer(text):
            place = range(*match.span())
            if any(place.start < each.stop and each.start < place.stop for each in taken):
                continue
            if any(name.start <= place.start and place.stop <= name.stop for name in called):
                continue
            try:
                first, end = days(match, today)
            except (ValueError, OverflowError):
                continue
            if first.year >= _EARLIEST and end.year <= _LATEST:
                taken.append(place)
                found.append(_Days(first, end, place.start, place.stop))
    return sorted(found, key=lambda each: each.start_at)


_Reader = Callable[[re.Match[str], date], tuple[date, date]]


def _day(first: date) -> tuple[date, date]:
    return first, first + timedelta(days=1)


def _month(year: int, month: int) -> tuple[date, date]:
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _year(year: int) -> tuple[date, date]:
    return date(year, 1, 1), date(year + 1, 1, 1)


def _week(today: date, weeks_ago: int) -> tuple[date, date]:
    monday = today - timedelta(days=today.weekday() + 7 * weeks_ago)
    return monday, monday + timedelta(days=7)


def _months_ago(today: date, months: int) -> tuple[date, date]:
    count = today.year * 12 + today.month - 1 - months
    return _month(count // 12, count % 12 + 1)


def _calendar(match: re.Match[str], today: date) -> tuple[date, date]:
    """Read a year, month and day, of which some are missing."""
    told = match.groupdict()
    year = _year_told(told, today)
    month = _month_number(told["month"]) if told.get("month") else None
    day = _number(told["day"]) if told.get("day") else None
    if month is None:
        return _year(year or today.year)
    if year:
        return _month(year, month) if day is None else _day(date(year, month, day))
    for past in range(9):  # 29 February comes every four years, or every eight.
        try:
            days = (
                _month(today.year - past, month)
                if day is None
                else _day(date(today.year - past, month, day))
            )
        except ValueError:
            continue
        if days[0] <= today:
            return days
    raise ValueError(match.group())


def _year_told(told: dict[str, str | None], today: date) -> int:
    if year := told.get("year"):
        return int(year)
    if era := told.get("reiwa"):
        return _REIWA + (1 if era == "元" else _number(era))
    back = {
        "去年": 1,
        "昨年": 1,
        "一昨年": 2,
        "おととし": 2,
        "今年": 0,
        "last year": 1,
        "this year": 0,
    }
    said = told.get("relative")
    return today.year - back[said] if said else 0


def _month_number(said: str) -> int:
    return (
        _number(said) if not said.isalpha() or not said.isascii() else _MONTHS.index(said[:3]) + 1
    )


def _number(said: str) -> int:
    """Read digits of any script, an English number up to twelve, or a Japanese one up to 99."""
    if said.isdecimal():
        return int(said)
    if said.isascii():
        return max(_ENGLISH_NUMBERS.index(said), 1)
    tens, is_ten, ones = said.rpartition("十")
    if not is_ten:
        return int("".join(str(_KANJI_DIGITS[each]) for each in said))
    return (_KANJI_DIGITS[tens] if tens else 1) * 10 + (_KANJI_DIGITS[ones] if ones else 0)


def _ago(match: re.Match[str], today: date) -> tuple[date, date]:
    """Read a number of days, weeks, months or years ago; the longer ago, the wider."""
    number, unit = _number(match["number"]), match["unit"]
    if unit.startswith(("day", "日")):
        return _day(today - timedelta(days=number))
    if unit.startswith(("week", "週")):
        middle = today - timedelta(weeks=number)
        return middle - timedelta(days=3), middle + timedelta(days=4)
    if unit.startswith(("year", "年")):
        return _year(today.year - number)
    return _months_ago(today, number)


_DAYS_AGO = {
    "today": 0, "tonight": 0, "this morning": 0,
    "今日": 0, "本日": 0, "きょう": 0, "今朝": 0, "今夜": 0,
    "yesterday": 1, "last night": 1, "昨日": 1, "きのう": 1, "昨夜": 1, "昨晩": 1, "ゆうべ": 1,
    "the day before yesterday": 2, "一昨日": 2, "おととい": 2,
}  # fmt: skip
_WEEKS_AGO = {"this week": 0, "last week": 1, "今週": 0, "先週": 1, "先々週": 2}
_MONTHS_AGO = {"this month": 0, "last month": 1, "今月": 0, "先月": 1, "先々月": 2}
_YEARS_AGO = {
    "this year": 0,
    "last year": 1,
    "今年": 0,
    "去年": 1,
    "昨年": 1,
    "一昨年": 2,
    "おととし": 2,
}


def _relative(match: re.Match[str], today: date) -> tuple[date, date]:
    """Read words for a time as seen from today."""
    said = " ".join(match.group().split())
    if said in _DAYS_AGO:
        return _day(today - timedelta(days=_DAYS_AGO[said]))
    if said in _WEEKS_AGO:
        return _week(today, _WEEKS_AGO[said])
    if said in _MONTHS_AGO:
        return _months_ago(today, _MONTHS_AGO[said])
    return _year(today.year - _YEARS_AGO[said])


def _weekday(match: re.Match[str], today: date) -> tuple[date, date]:
    """Read a day of the week: of the week named, else the latest one, for `last` before today."""
    said = match["weekday"]
    number = _WEEKDAYS.index(said[:3]) if said.isascii() else _KANJI_WEEKDAYS.index(said)
    week = match.groupdict().get("week")
    if week in _WEEKS_AGO:
        return _day(_week(today, _WEEKS_AGO[week])[0] + timedelta(days=number))
    back = (today.weekday() - number) % 7
    return _day(today - timedelta(days=back or (7 if week else 0)))


def _weekend(match: re.Match[str], today: date) -> tuple[date, date]:
    """Read a weekend: the latest one that has begun, for `last` one that is over."""
    monday = _week(today, 0)[0]
    is_now = today.weekday() >= _WEEKDAYS.index("sat") and match["which"] not in {"last", "先"}
    saturday = monday + timedelta(days=5 if is_now else -2)
    return saturday, saturday + timedelta(days=2)


def _month_day(match: re.Match[str], today: date) -> tuple[date, date]:
    """Read a day of this month or an earlier one."""
    first = _months_ago(today, _MONTHS_AGO[match["which"]])[0]
    return _day(first.replace(day=_number(match["day"])))


_NUMBER = r"(?:\d{1,3}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_ENGLISH_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_ENGLISH_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_ENGLISH_WEEKDAY = (
    r"(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|wed|thurs?|"
    r"fri|sat|sun)\b"
)
_YEAR = r"(?P<year>(?:19|20|21)\d{2})"
_JAPANESE_YEAR = (
    rf"(?:{_YEAR}年|令和(?P<reiwa>元|\d{{1,2}})年|(?P<relative>去年|昨年|一昨年|おととし|今年)の?)"
)
_JAPANESE_MONTH = r"(?P<month>\d{1,2}|十[一二]?|[一二三四五六七八九])月"
_NOT_TO_COME = r"(?<!来週)(?<!来週の)(?<!来年)(?<!来年の)"
"""Before a weekday or a month: what is said of one to come was said at any time."""

_ALONE = r"(?:(?<![ぁ-ゖ])|(?<=[はがもにでねよ]))"
"""Before a word in hiragana: it is no part of another one, such as べんきょう or とうきょう."""

_NO_VERB = (
    r"(?!this\s+may\s+(?!(?:in|at|on|for|to|with|about|and|or|when|what|who|did|was|were)\b)\w)"
)
"""Before a month: not as in `this may be wrong`."""


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], _Reader], ...]:
    """Compile the patterns on the first question with a hint of a date, most exact first."""
    return tuple((re.compile(pattern), read) for pattern, read in _all_patterns())


def _all_patterns() -> Iterator[tuple[str, _Reader]]:
    year = rf"(?:,?\s*(?:of\s+)?(?:{_YEAR}\b|(?P<relative>last year|this year)))"
    yield rf"(?<!\d){_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})(?!\d)", _calendar
    yield rf"(?<!\d){_YEAR}[-/](?P<month>\d{{1,2}})(?![\d/-])", _calendar
    yield rf"\b{_ENGLISH_DAY}\s*(?:of\s+)?{_ENGLISH_MONTH}{year}?", _calendar
    yield rf"\b{_ENGLISH_MONTH}\s*(?:the\s+)?{_ENGLISH_DAY}(?!\s*[%:]){year}?", _calendar
    yield rf"\b{_ENGLISH_MONTH}{year}", _calendar
    # `may` and `march` are words too: they are months after these only.
    spoken = r"(?:in|during|since|until|by|of|last|this|early|late|mid)[\s-]+"
    yield (
        rf"\b{_NO_VERB}{spoken}{_ENGLISH_MONTH}(?!\s+(?:i|you|we|he|she|they)\b)",
        _calendar,
    )
    no_word = r"(?<!next )(?!may\b|mar\b|march\b|sat\b|sun\b|dec\b|jan\b)"
    yield rf"\b{no_word}{_ENGLISH_MONTH}", _calendar
    japanese = rf"{_NOT_TO_COME}(?<![\d十])(?:{_JAPANESE_YEAR}\s*)?{_JAPANESE_MONTH}"
    yield rf"{japanese}\s*(?P<day>{_NUMBER})日", _calendar
    yield rf"{japanese}(?![間雨])", _calendar
    yield rf"(?P<which>先々月|先月|今月)の?(?P<day>{_NUMBER})日(?![間前])", _month_day
    english = rf"{_NUMBER}|{'|'.join(_ENGLISH_NUMBERS)}"
    yield rf"\b(?P<number>{english})\s+(?P<unit>days?|weeks?|months?|years?)\s+ago\b", _ago
    yield (
        rf"(?P<number>{_NUMBER})\s*(?P<unit>日|週間?|[かカヶヵケ]月|年)(?:ほど|くらい|ぐらい)?前",
        _ago,
    )
    yield rf"(?P<week>先々週|先週|今週|この前|前)の?(?P<weekday>[{_KANJI_WEEKDAYS}])曜", _weekday
    yield rf"{_NOT_TO_COME}(?P<weekday>[{_KANJI_WEEKDAYS}])曜", _weekday
    yield rf"\b(?P<week>last|previous)\s+{_ENGLISH_WEEKDAY}", _weekday
    yield rf"\b(?:on|this)\s+{_ENGLISH_WEEKDAY}", _weekday
    yield r"\b(?P<which>last|this|over the|on the|the)\s+weekend\b", _weekend
    yield r"(?P<which>先|今|この|)週末", _weekend
    words = sorted({**_DAYS_AGO, **_WEEKS_AGO, **_MONTHS_AGO, **_YEARS_AGO}, key=len, reverse=True)
    spaced = "|".join(each.replace(" ", r"\s+") for each in words if each.isascii())
    yield rf"\b(?:{spaced})\b", _relative
    yield "|".join(map(_japanese_word, (each for each in words if not each.isascii()))), _relative
    yield rf"\b(?:in|during|of|since|until|by|year)\s+{_YEAR}\b", _calendar
    yield rf"{_JAPANESE_YEAR}", _calendar


def _japanese_word(word: str) -> str:
    """Return a pattern for a word where it is not the beginning or end of another one."""
    if word == "今日":
        return "今日(?!子)"
    if not "ぁ" <= word[0] <= "ゖ":
        return word
    longer = "(?!だい|しつ|いく|かい|と)" if word == "きょう" else ""
    return f"{_ALONE}{word}{longer}"


@cache
def _hint() -> re.Pattern[str]:
    """Compile what every date has something of; most questions are left at once."""
    return re.compile(
        r"\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|day|night|morning|ago|last|this|"
        r"week|[月年日週曜今朝昨夜晩]|きょう|きのう|ゆうべ|おとと"
    )


@cache
def _between() -> re.Pattern[str]:
    return re.compile(r"\s*(?:and|to|until|till|through|-|–|—|~|〜|から|と)\s*(?:the\s+)?")
