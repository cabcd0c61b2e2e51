"""Near duplicates: whether two texts say the same, judged without a model.

Of short ones, a memory or a belief, `relation` tells whether they claim the same or the contrary.
Words stand there for whole runs of one script: neighbouring pairs overlap, so that one kanji of
difference (太郎の妹, 太郎) would drown among them. Longer ones, what a turn taught, are as much
alike as their terms, where no number or negation differs.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from opencrab.domain.text.terms import content_terms_of_text, text_terms

NEARLY_ALL = 0.8
"""The share of words that a near duplicate has in common with the longer text: one word more in
five still says the same, one more in three often names somebody else's birthday."""

SAME_SUBJECT = 0.75
"""The share of words in common from which two texts have the same subject."""

ALIKE = 0.75
"""The share of terms in common from which two texts say the same."""


class TextRelation(StrEnum):
    """The relation of one text to another."""

    SAME = "same"
    NEAR = "near"
    CONTRARY = "contrary"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TextClaim:
    """The content of a text for comparison: words in order, numbers and dates, and negation.

    `letters` is the text without case, width, spaces and punctuation.
    """

    letters: str
    words: tuple[str, ...]
    values: frozenset[str]
    denies: bool


def words_and_values_of_text(text: str) -> TextClaim:
    """Parse a text into its words, values and negation."""
    folded = _normalize_text(text)
    plain = _harmless().sub(" ", _duty().sub(" 必要 ", folded))
    felt = _liking().sub(" ♥ ", _disliking().sub(" not ♥ ", plain))
    told = _able().sub(r"\1 not", felt)
    bare, denials = _denial().subn(" ", told)
    values = frozenset(_value(match) for match in _values().finditer(bare))
    words = tuple(_words(_values().sub(" ", bare)))
    return TextClaim(_unheard().sub("", folded), words, values, denies=denials > 0)


def compare_texts(one: TextClaim, other: TextClaim) -> TextRelation:
    """Compare two texts; the order of the arguments does not matter."""
    if one.letters == other.letters:
        return TextRelation.SAME
    shorter, longer = sorted((len(one.words), len(other.words)))
    if not shorter or shorter / longer < SAME_SUBJECT:
        return TextRelation.OTHER
    common = _in_common(one.words, other.words)
    same_subject = common / (shorter + longer - common) >= SAME_SUBJECT
    clash = not (one.values <= other.values or other.values <= one.values)
    if clash or one.denies is not other.denies:
        return TextRelation.CONTRARY if same_subject else TextRelation.OTHER
    if common < shorter or shorter / longer < NEARLY_ALL:
        return TextRelation.OTHER
    whole = _loses_nothing(one, other) or _loses_nothing(other, one)
    return TextRelation.NEAR if whole else TextRelation.OTHER


def has_text_more_words(one: TextClaim, other: TextClaim) -> bool:
    """Check whether one text has more words and numbers than another."""
    return len(one.words) + len(one.values) > len(other.words) + len(other.values)


@dataclass(frozen=True)
class TextTerms:
    """The terms of a text, its content terms (`distinctive_terms`), and its `turns`.

    `turns` are its numbers in their order, what it negates, and words such as before and after:
    texts that differ in one of them say different things, whatever else they have in common.
    """

    terms: frozenset[str]
    distinctive_terms: frozenset[str]
    turns: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, text: str) -> "TextTerms":
        """Extract the terms of a text."""
        return cls(text_terms(text), content_terms_of_text(text), _turns(text))

    def similarity_to(self, other: "TextTerms") -> float:
        """Compute the similarity of two texts, 0 to 1.

        The lower of the Dice coefficients of all terms and of content terms, so that little words
        and endings alone do not make texts similar; 0 if `turns` differ.
        """
        if self.turns != other.turns:
            return 0.0
        if min(len(self.terms), len(other.terms)) < _LEAST_TERMS:
            return 0.0
        return min(
            text_dice_coefficient(self.terms, other.terms),
            text_dice_coefficient(self.distinctive_terms, other.distinctive_terms),
        )


def text_dice_coefficient(one: frozenset[str], other: frozenset[str]) -> float:
    """Compute the Dice coefficient of two sets, 0 to 1 (Dice 1945); 0 if one is empty."""
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def _normalize_text(text: str) -> str:
    """Return a text with one spelling of each character (NFKC), apostrophe and minus."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return text.replace("’", "'").replace("−", "-")


def _loses_nothing(one: TextClaim, other: TextClaim) -> bool:
    """Check whether one text has all the numbers, and no fewer words, than the other."""
    return len(one.words) >= len(other.words) and one.values >= other.values


def _in_common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Count the words that two texts share in the same order: who loves whom depends on it."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for place, each in enumerate(other, start=1):
            kept = row[place]
            row[place] = before + 1 if word == each else max(kept, row[place - 1])
            before = kept
    return row[-1]


def _words(text: str) -> list[str]:
    found = list[str]()
    for match in _runs().finditer(text):
        run = match.group()
        if match["kana"] is not None:
            attached = match.start() > 0 and bool(_kanji().match(text[match.start() - 1]))
            found.extend(_kana(run, attached=attached))
        elif match["latin"] is not None:
            found.extend([] if run in _SMALL_WORDS else [_stem(run)])
        else:
            found.append(run)
    return found


def _kana(run: str, *, attached: bool) -> list[str]:
    """Return the words of a run of hiragana: between particles, without polite endings.

    A part that is `attached` to a kanji is mostly its inflection; only a longer one is a word.
    """
    found = list[str]()
    parts = [part for part in _particles().split(run) if part is not None]
    for number, part in enumerate(parts):
        if part in _ROLES:
            found.append(part)
            continue
        bare, least = part, 3 if attached and number == 0 else 2
        while (shorter := _endings().sub("", bare)) != bare:
            bare = shorter
        if len(bare) >= least:
            found.append(bare)
    return found


def _stem(word: str) -> str:
    """Return an English word without the most common endings."""
    word = word.removesuffix("'s")
    for ending in ("s", "ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            word = word.removesuffix(ending)
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word


def _value(match: re.Match[str]) -> str:
    """Return a number or a date in one spelling, however it is written."""
    if match["digits"] is not None:
        number = match["digits"].replace(",", "")
        return number.lstrip("0") or "0"
    if match["kanji"] is not None:
        return str(_from_kanji(match["kanji"]))
    word = match["named"]
    if word in _MONTHS:
        return str(_MONTHS.index(word) + 1)
    return _DAYS.get(word[:3], _DAYS.get(word[:1], word))


def _from_kanji(text: str) -> int:
    """Parse a number up to 99,999,999 in kanji, also digits in a row (二〇二六)."""
    if all(each in _DIGITS for each in text):
        return int("".join(str(_DIGITS.index(each)) for each in text))
    total, group, last = 0, 0, 0
    for each in text:
        if each in _DIGITS:
            last = _DIGITS.index(each)
        elif each == "万":
            total, group, last = (group + last or 1) * 10_000, 0, 0
        else:
            group, last = group + (last or 1) * _TENS[each], 0
    return total + group + last


_SHORTEST_STEM = 3
_DIGITS = "〇一二三四五六七八九"
_TENS = {"十": 10, "百": 100, "千": 1_000}
_ROLES = frozenset({"を", "から", "まで", "より"})
"""Particles that mark who does what to whom, and from where: they count as words."""

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
_DAYS = {
    name: f"{number}d"
    for number, names in enumerate(
        ("mon月", "tue火", "wed水", "thu木", "fri金", "sat土", "sun日"), start=1
    )
    for name in (names[:3], names[3])
}
_ARTICLES = """
    a an the is are was were be been am very really also that of in on at s has have had does do
    did it's
"""
_SMALL_WORDS = frozenset(_ARTICLES.split())


@cache
def _runs() -> re.Pattern[str]:
    return re.compile(
        r"(?P<kana>[ぁ-ゖゝゞ]+)|(?P<other>[々〇㐀-䶿一-鿿\uf900-\ufaff\U00020000-\U0003ffff\u2600-\u27bf\U0001f000-\U0001faff]+"
        r"|[ァ-ヺー-ヿ]+|[가-힣]+)|(?P<latin>[^\W_ぁ-ヿ々〇㐀-鿿가-힣]+(?:'[a-z]+)?[+#]*)"
    )


@cache
def _kanji() -> re.Pattern[str]:
    return re.compile(r"[々〇㐀-䶿一-鿿\uf900-\ufaff\U00020000-\U0003ffff]")


@cache
def _particles() -> re.Pattern[str]:
    return re.compile(r"(から|まで|より|を)|[はがにへとでもの]")


@cache
def _endings() -> re.Pattern[str]:
    return re.compile(
        r"(?:でした|ました|ています|ている|ていた|です|ます|まし|します|しました|する|した|だった|"
        r"きな|だ|よ|ね|そう|らしい|さん|ちゃん|くん|さま)$"
    )


@cache
def _unheard() -> re.Pattern[str]:
    return re.compile(r"[\s.,!?;\"'…。、・「」『』()]+(?!\d)")


@cache
def _duty() -> re.Pattern[str]:
    """Compile a pattern of double negations that express a duty."""
    return re.compile(r"な(?:ければ|くては)(?:ならない|なりません|いけない|いけません)")


@cache
def _harmless() -> re.Pattern[str]:
    """Compile a pattern of phrases that only look like a negation."""
    return re.compile(r"(?<=[少危幼切])ない|だけでなく|もったいない|かもしれない|not only")


@cache
def _denial() -> re.Pattern[str]:
    return re.compile(
        r"(?:では|じゃ|で)?(?:なかった|ありませんでした|ありません|ない|なくなった|なくなり)"
        r"|ませんでした|ません|やめた|やめました"
        r"|\b(?:not|never|no longer|without|no|none|neither|nor|stopped|quit)\b"
        r"|n't\b"
    )


@cache
def _able() -> re.Pattern[str]:
    """Compile a pattern of negations contracted with the verb."""
    return re.compile(r"\b(can|wo)(?:not|n't|'t)\b")


@cache
def _liking() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:like[sd]?|love[sd]?|enjoy(?:s|ed)?)\b|大?好き|(?<=が)すき(?![ぁ-ゖ]{2})"
    )


@cache
def _disliking() -> re.Pattern[str]:
    return re.compile(r"\b(?:dislike[sd]?|hate[sd]?)\b|大?嫌い|苦手|(?<=が)きらい")


@cache
def _values() -> re.Pattern[str]:
    months = "|".join(_MONTHS)
    return re.compile(
        r"(?P<digits>(?<![a-z0-9-])-?\d+(?:[.,:]\d+)*|\d+(?:[.,:]\d+)*)[年月日時分]?"
        r"|(?P<kanji>[〇一二三四五六七八九十百千万]+)"
        r"(?:[年月日時分]|(?=[秒人個回円歳才冊枚台匹本階週]))"
        rf"|(?P<named>\b(?:{months})\b"
        r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|[月火水木金土日]曜日?)"
    )


_LEAST_TERMS = 4
_NEGATIONS = """
    not no never none nothing nobody nowhere neither nor without cannot cant dont doesnt didnt wont
    avoid stop refuse forbid forbidden prohibited
"""
_TURNS = "before after until unless except more less fewer above below"
_COUNTS = """
    two three four five six seven eight nine ten eleven twelve twenty thirty hundred thousand half
    twice
"""
_NEGATING, _TURNING, _COUNTING = (
    frozenset(words.split()) for words in (_NEGATIONS, _TURNS, _COUNTS)
)


def _turns(text: str) -> tuple[tuple[str, ...], ...]:
    folded = _normalize_text(text)
    words = _english().findall(folded)
    numbers = [each.replace(",", "") for each in _numbers().findall(folded)]
    negated = sorted((*_negated_words(words), *_negated_japanese_words(folded)))
    turning = (*(word for word in words if word in _TURNING), *_japanese().findall(folded))
    counts = (word for word in words if word in _COUNTING)
    return (tuple(numbers), tuple(counts), tuple(negated), tuple(sorted(turning)))


def _negated_words(words: list[str]) -> Iterator[str]:
    """Yield the object of each negation in English: the next content term, or ""."""
    for place, word in enumerate(words):
        if word in _NEGATING or word.endswith("n't"):
            following = (
                min(content_terms_of_text(each), default="") for each in words[place + 1 :]
            )
            yield next(filter(None, following), "")


def _negated_japanese_words(text: str) -> Iterator[str]:
    """Yield the object of each negation in Japanese: the last kanji or katakana before it."""
    for found in _denials().finditer(text):
        before = _content().findall(text[: found.start()].rpartition("\n")[2])
        yield before[-1] if before else ""


@cache
def _english() -> re.Pattern[str]:
    return re.compile(r"[a-z]+(?:'[a-z]+)?")


@cache
def _numbers() -> re.Pattern[str]:
    return re.compile(r"\d+(?:[.,:]\d+)*|[〇一二三四五六七八九十百千万億]+")


@cache
def _denials() -> re.Pattern[str]:
    return re.compile(
        r"な(?:い|く|かった|かろう|けれ|し(?![かゃゅょ]))|ません|ませぬ|(?<![まは必])ず(?![っつ])"
        r"|[うくぐすつぬぶむる]な(?=$|[。、!?\s])"
        r"|禁止|厳禁|禁じ|避け|やめ|止め|中止|拒否|断[るりっ]|[だダ][めメ]|[不非未無勿没]"
    )


@cache
def _japanese() -> re.Pattern[str]:
    return re.compile(r"以上|以下|以内|以外|以前|以後|以降|未満|より|まで|から|[前後]")


@cache
def _content() -> re.Pattern[str]:
    return re.compile(r"[々㐀-䶿一-鿿ァ-ヺ]")
