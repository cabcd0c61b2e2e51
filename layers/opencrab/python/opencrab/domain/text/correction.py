"""Corrections: whether a message says that the answer before was wrong, asks again, or thanks.

They are told by a few turns of phrase and by the words that two messages have in common. What is
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

_SHORT = 12
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


_THANKS = (
    r"\b(?:thanks|thank you|thx|cheers)\b(?! (?:anyway|anyways|for trying|in advance)\b)|"
    r"\b(?:that|this|it)(?:'s| is| was)? (?:worked|works|helped|helps|did it|solved it|perfect|"
    r"exactly (?:it|right|what i))\b(?!\s*\?)|"
    r"^(?:perfect|brilliant|excellent|exactly|great(?: answer| job| work)?|nice one|well done)\b"
    r"\s*(?:[!.,]|$)|"
    r"ありがと|助かり(?:ました|ます)|助かった|感謝(?:します|です|して)|"
    r"(?:完璧|ばっちり|バッチリ|さすが)(?:です|だ|！|!|。|$)|"
    r"(?:うまく|上手く)(?:いき|行き)ました(?!か)|(?:解決|納得)しました(?!か)|それで(?:大丈夫|OK|オッケー)です"
)
_THANKLESS = (
    r"\bno,? thank|\bthank(?:s| you)[^.!?]{0,20}\b(?:but|though|however|except)\b|"
    r"\b(?:but|however|except|unfortunately|still)\b|\b(?:not|n't|never|no longer)\b|"
    r"\bif (?:that|this|it)\b|"
    r"\b(?:nothing|wrong|errors?|crash\w*|broke|broken|fail\w*|genius)\b|"
    r"\b(?:please|(?:can|could|would|will) you|translate|write|draft|say|how|what|where|who|why)\b"
    r"[^.!?]*\b(?:thanks|thank you|thx|cheers)\b|[\"'\u201c\u2018](?:thanks|thank you)|"
    r"\bthank you (?:note|card|letter|mail|e-?mail|message|speech)\b|\bcheers is\b|"
    r"「[^」]*ありがと|ありがとう?(?:って|と(?:いう|言|書|入|伝)|カード|メール|メッセージ|の(?:言葉|手紙))|"
    r"(?:(?<!くれ)(?<!いただい)て|ください|下さい|お願いします)[。!！\s]+(?:どうも)?ありがと|"
    r"ありがと[^。!！]{0,12}(?:けど|けれど|ですが|が、|でも)|でも|ただ、|しかし|まだ|違|ちが|"
    r"結構です|いりません|ではない|じゃない|ません(?:でした)?(?:。|$|、)|"
    r"(?:くれ|いただけ|もらえ)(?:る|ます|たら|れば|ると)"
)
"""Phrases of polite refusals, of thanks before an objection or in advance, and about thanks."""

_TOLD_FIRST = 80
"""The number of characters in which thanks for an answer are said, before the next matter."""


def is_text_thanks(text: str) -> bool:
    """Check whether a message begins by thanking for the answer before, or by accepting it."""
    said = text[:_READ].strip().casefold().replace("\u2019", "'")
    first = re.split(r"(?<=[.!?\n。!？])\s*", said[:_TOLD_FIRST])
    begun = " ".join(first[:2]) if first and len(first[0]) < _SHORT else first[0]
    found = re.search(_THANKS, begun)
    return found is not None and re.search(_THANKLESS, begun) is None


def is_text_correction(text: str) -> bool:
    """Check whether a message says that the answer before it was wrong."""
    said = text[:_READ].strip().casefold().replace("\u2019", "'")
    # The patterns are kept compiled by `re` from the first message on: most starts can save that.
    if re.match(_BEGINS, said):
        return True
    return re.search(_CONTAINS, said) is not None and re.search(_DOUBTS, said) is None


def is_text_repeated(text: str, before: str) -> bool:
    """Check whether a message asks the same as an earlier one of the same person.

    Its content terms must be alike, whatever the words between them; where there are few, all
    terms.
    """
    now, then = text_terms(text), text_terms(before)
    if min(len(now), len(then)) < LEAST_TERMS:
        return False
    matter, earlier = content_terms_of_text(text), content_terms_of_text(before)
    if not _alike(matter, earlier):
        return False
    return min(len(matter), len(earlier)) >= LEAST_TERMS or _alike(now, then)


def _alike(now: frozenset[str], then: frozenset[str]) -> bool:
    return len(now & then) >= ALIKE * max(len(now), len(then))
