"""Corrections: whether a message says that the answer before it was wrong, or asks again.

Both are told by a few turns of phrase and by the words that two messages have in common. What is
doubtful does not count: a correction that is missed costs one observation, and one that is none
would count against an answer that was right.
"""

import re
from datetime import timedelta

from opencrab.domain.text.terms import content_terms_of_text, text_terms

AGAIN_WITHIN = timedelta(minutes=30)
"""The time after which the same question may be a new one."""

ALIKE = 0.8
"""The share of terms in common, of the message that has more, from which two messages are the same.
"""

LEAST_TERMS = 3
"""The least number of terms to compare: short messages, such as a yes, repeat every day."""

_READ = 400
"""The number of characters to search: a correction is stated at the beginning."""

_END = r"(?=\s|[、。,.!!…]|$)"
_BEGINS = (
    r"(?:いや|いえ|いいえ|ううん)?[、,.。\s]*(?:違う|違います|違いました|ちがう|ちがいます)"
    rf"(?:よ|ね|って|ってば|んだ|んです|のです|んですが|んだけど|けど)*{_END}|"
    r"(?:いや|いえ|いいえ|ううん)?[、,.。\s]*(?:そう|それ|これ)(?:じゃなく|ではなく|じゃない|ではない)|"
    r"(?:no|nope|wrong)\b\s*[,.!:;\u2014-]\s*(?!thank|problem|need|worries|rush|hurry|matter|idea|"
    r"that'?s (?:fine|ok|okay|all|good|great|it|right|enough)\b)\w|"
    r"(?:that|this|it)(?: i|')s not (?:right|correct|true|it|what)\b"
)
_CONTAINS = (
    r"(?:そう|それ)(?:いう(?:こと|意味))?(?:じゃなく|ではなく)て|"
    r"(?:という|そういう|そんな)(?:意味|つもり)(?:じゃ|では)(?:ない|なく|ありません)|"
    r"(?:答え|回答|返事|返答|それ|これ|計算|結果|内容)(?:は|が|も)?(?:、)?"
    r"(?:間違って(?:い)?(?:ます|る)|間違い(?:です|だ)|違(?:います|う))"
    r"(?:よ|ね|けど|んだ|んです|って|し)*(?=[\s、。!!…]|$)|"
    r"\b(?:that|this|it|your (?:answer|reply|result|calculation|code))(?: (?:is|was)|'s)"
    r"(?: still| just| completely| totally| simply)? (?:wrong|incorrect|mistaken)\b(?!\s*\?)|"
    r"\byou(?: are|'re) (?:wrong|mistaken|incorrect)\b|"
    r"\byou(?: have)? (?:misunderstood|misread|got (?:it|that|this) wrong)\b|"
    r"\bnot what i (?:asked|meant|said|wanted|want)\b|"
    r"\b(?:what i meant|i meant)\b(?! to\b| no\b| it\b)|"
    r"\bi (?:did not|didn't) (?:mean|ask|say) (?:that|this|it|for)\b"
)
_DOUBTS = (
    r"\b(?:if|whether|in case|unless|when) (?:that|this|it|you|your \w+)\b|"
    r"(?:たら|れば|なら|場合|とき)[^。]{0,12}(?:教えて|言って|指摘|直して)"
)
"""Phrases of a request to report mistakes, which is no correction."""


def is_text_correction(text: str) -> bool:
    """Check whether a message says that the answer before it was wrong."""
    said = text[:_READ].strip().casefold().replace("\u2019", "'")
    # The patterns are kept compiled by `re` from the first message on: most starts can save that.
    if re.match(_BEGINS, said):
        return True
    return re.search(_CONTAINS, said) is not None and re.search(_DOUBTS, said) is None


def is_text_repeated(text: str, before: str) -> bool:
    """Check whether a message says nearly the same as an earlier one of the same person.

    Both all their terms and their content terms must be alike.
    """
    now, then = text_terms(text), text_terms(before)
    if min(len(now), len(then)) < LEAST_TERMS:
        return False
    return _alike(now, then) and _alike(content_terms_of_text(text), content_terms_of_text(before))


def _alike(now: frozenset[str], then: frozenset[str]) -> bool:
    return len(now & then) >= ALIKE * max(len(now), len(then))
