"""Which signals tell what people think: `python -m tests.bench.signals [FIRST LAST]`.

Conversations are generated with a known truth: whether each answer was good, and what a person of
one of several temperaments, in English or Japanese, says next. The product's own extraction reads
the messages; how well each signal tells good answers from bad ones is its AUC, 0.5 for chance.
Phrases are not those that the extraction was written with, but they are of the same author: this
tests the extraction, not how people are. Seeds from SEALED on are for the figures that are told.
"""

import random
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from opencrab.domain.learning.reward import CORRECTED, REPEATED, THANKED
from opencrab.domain.text.correction import (
    ALIKE,
    is_text_correction,
    is_text_repeated,
    is_text_thanks,
)
from opencrab.domain.text.terms import text_terms

SEALED = 1_000
TURNS = 400

MATTERS = {
    "en": (
        "How do I renew the parking permit for the {place}",
        "Which train leaves earliest from the {place} on Sunday",
        "Summarise the minutes of the {place} committee",
        "Draft an invitation to the {place} festival",
        "What does the insurance of the {place} cover",
    ),
    "ja": (
        "{place}の駐車許可を更新する方法を教えて",
        "日曜に{place}を一番早く出る電車はどれ",
        "{place}委員会の議事録を要約して",
        "{place}祭りの招待状を書いて",
        "{place}の保険は何を補償しますか",
    ),
}
PLACES = {
    "en": ("harbour", "library", "stadium", "museum", "market", "school"),
    "ja": ("港", "図書館", "競技場", "美術館", "市場", "学校"),
}
COMPLAINTS = {
    "en": ("No, that's the wrong one.", "That is not what I asked.", "You misread it.", "Hm, odd."),
    "ja": (
        "いや、違います。",
        "そういう意味じゃないです。",
        "計算が間違っています。",
        "うーん、変だな。",
    ),
}
PRAISE = {
    "en": ("Thank you so much!", "Perfect, thanks.", "That did it.", "Lovely.", "Ok."),
    "ja": ("ありがとうございます!", "助かりました。", "さすがです。", "いい感じ。", "はい。"),
}
SMALL_TALK = {
    "en": ("It is raining here.", "Thanks to the rain I stayed in.", "No rush with the other one."),
    "ja": ("こちらは雨です。", "雨のおかげで家にいました。", "別の件は急ぎません。"),
}
AGAIN = {
    "en": ("{matter}?", "I asked: {matter}", "Please, {matter}", "Once more. {matter}"),
    "ja": ("{matter}", "もう一度、{matter}", "ですから、{matter}", "お願いします、{matter}"),
}


@dataclass(frozen=True)
class Temperament:
    """How often somebody praises, complains, asks again or only talks, each out of one."""

    praises: float
    complains: float
    asks_again: float
    talks: float


TEMPERAMENTS = (
    Temperament(praises=0.5, complains=0.2, asks_again=0.2, talks=0.2),  # polite
    Temperament(praises=0.05, complains=0.5, asks_again=0.3, talks=0.05),  # blunt
    Temperament(praises=0.05, complains=0.05, asks_again=0.1, talks=0.05),  # silent
    Temperament(praises=0.3, complains=0.3, asks_again=0.2, talks=0.5),  # chatty
)
HABIT = 0.04
"""How often somebody thanks for a bad answer, or complains of a good one."""


@dataclass(frozen=True)
class Heard:
    """An answer's truth, the message that it answered, and the next one."""

    good: bool
    asked: str
    next: str


def _is_repeated_as_before(heard: Heard) -> bool:
    """Whether all terms are alike, too: the rule of the release before."""
    now, then = text_terms(heard.next), text_terms(heard.asked)
    alike = len(now & then) >= ALIKE * max(len(now), len(then))
    return alike and is_text_repeated(heard.next, heard.asked)


def _weighed(heard: Heard, *, is_before: bool) -> float:
    """What a turn's reward comes to by the next message, with the weights of the product."""
    again = (
        _is_repeated_as_before(heard) if is_before else is_text_repeated(heard.next, heard.asked)
    )
    told = -CORRECTED * is_text_correction(heard.next) - REPEATED * again
    return told if is_before else told + THANKED * is_text_thanks(heard.next)


SIGNALS: dict[str, Callable[[Heard], float]] = {
    "correction": lambda heard: -float(is_text_correction(heard.next)),
    "asked again, as before": lambda heard: -float(_is_repeated_as_before(heard)),
    "asked again": lambda heard: -float(is_text_repeated(heard.next, heard.asked)),
    "thanks": lambda heard: float(is_text_thanks(heard.next)),
    "all that count, as before": lambda heard: _weighed(heard, is_before=True),
    "all that count": lambda heard: _weighed(heard, is_before=False),
    "length of the next message": lambda heard: float(len(heard.next)),
}


def conversation(seed: int, language: str) -> list[Heard]:
    """One person's turns; each message reacts to the answer before and asks something new."""
    chance = random.Random(f"{seed}/{language}")  # noqa: S311 - the same each time
    temper = TEMPERAMENTS[seed % len(TEMPERAMENTS)]
    found, asked = list[Heard](), _matter(chance, language)
    for _ in range(TURNS):
        good = chance.random() < 0.6
        said, again = _reaction(chance, temper, language, asked, good=good)
        matter = asked if again else _matter(chance, language)
        following = said if again else " ".join(filter(None, (said, matter)))
        found.append(Heard(good, asked, following))
        asked = matter
    return found


def _reaction(
    chance: random.Random, temper: Temperament, language: str, asked: str, *, good: bool
) -> tuple[str, bool]:
    """What is said of an answer, and whether that asks the same again."""
    seems_good = good if chance.random() >= HABIT else not good
    said = ""
    if seems_good and chance.random() < temper.praises:
        said = chance.choice(PRAISE[language])
    elif not seems_good and chance.random() < temper.asks_again:
        return chance.choice(AGAIN[language]).format(matter=asked), True
    elif not seems_good and chance.random() < temper.complains:
        said = chance.choice(COMPLAINTS[language])
    if chance.random() < temper.talks:
        said = f"{said} {chance.choice(SMALL_TALK[language])}".strip()
    return said, False


def _matter(chance: random.Random, language: str) -> str:
    return chance.choice(MATTERS[language]).format(place=chance.choice(PLACES[language]))


def auc(pairs: Iterable[tuple[bool, float]]) -> float:
    """The probability that a good answer has the higher signal than a bad one; ties are half."""
    listed = sorted((value, good) for good, value in pairs)
    below = wins = 0.0
    goods = sum(good for _, good in listed)
    place = 0
    while place < len(listed):
        same = [good for value, good in listed if value == listed[place][0]]
        bad = len(same) - sum(same)
        wins += sum(same) * (below + bad / 2)
        below += bad
        place += len(same)
    return wins / (goods * (len(listed) - goods))


def table(seeds: Sequence[int]) -> str:
    """Each signal's AUC in both languages, with the 95 % interval of the mean over seeds."""
    rows = ["| signal | English | Japanese |", "|---|---|---|"]
    for name, signal in SIGNALS.items():
        cells = []
        for language in ("en", "ja"):
            found = [
                auc((each.good, signal(each)) for each in conversation(seed, language))
                for seed in seeds
            ]
            half = 1.96 * statistics.stdev(found) / len(found) ** 0.5
            cells.append(f"{statistics.mean(found):.3f} ± {half:.3f}")
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    first, last = (int(each) for each in (sys.argv[1:] or (SEALED, SEALED + 31)))
    print(f"seeds {first} to {last}\n{table(range(first, last + 1))}")
