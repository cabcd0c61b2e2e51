"""What a person wrote in a mail, without the quoted history, the signature and forwarded words."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_ATTRIBUTIONS = (
    re.compile(
        r"(?:On|Am|Le)\b(?=.{0,80}[0-9]).{6,300}\b(?:wrote|schrieb|a écrit)\s*[:\uff1a]",
        re.IGNORECASE,
    ),
    re.compile(r"[0-9]{4}[年/.-].{6,300}(?:のメール|wrote|の投稿|は書きました)\s*[:\uff1a]"),
    re.compile(r"[0-9]{4}[年/.-][^<>]{2,120}<[^<>\s]+@[^<>\s]+>\s*(?:さん)?[:\uff1a]"),
    re.compile(
        r".{0,120}<[^<>\s]+@[^<>\s]+>\s*(?:wrote|さんは書きました|さん(?:の)?メール)\s*[:\uff1a]"
    ),
    re.compile(r".{1,80}さん(?:は|が)(?:こう)?書きました\s*[:\uff1a]"),
)
"""The lines above quotations: Gmail, Apple Mail, Thunderbird and their like, in two languages."""
_DATED = _ATTRIBUTIONS[:3]

_ORIGINAL = re.compile(
    r"[-_\s]*(?:Original Message|Original Appointment|元のメッセージ|返信元メッセージ)[-_\s]*"
    r"|_{10,}",
    re.IGNORECASE,
)
_FORWARDED = re.compile(
    r"[-\s]*(?:Forwarded message|Begin forwarded message|転送(?:された)?メッセージ"
    r"|Forwarded by .{1,80}|転送元メッセージ)[-\s:\uff1a]*",
    re.IGNORECASE,
)
_SENDER = (
    r"From|差出人|送信者|Von|De|Da|Van|Från|Fra|Lähettäjä|Od|От|发件人|寄件者|寄件人|보낸 ?사람"
)
_FIELD = re.compile(
    rf"\*{{0,2}}(?:{_SENDER}|Sent|Date|To|Cc|Subject|Reply-To"
    r"|送信日時|日時|日付|宛先|件名"
    r"|Gesendet|Datum|An|Betreff|Envoyé|À|Objet|Enviado(?: el)?|Enviada(?: em)?|Fecha|Data|Para"
    r"|Asunto|Assunto|Inviato|A|Oggetto|Verzonden|Aan|Onderwerp|Skickat|Till|Ämne|Sendt|Til|Emne"
    r"|Lähetetty|Vastaanottaja|Aihe|Wysłano|Do|Temat|Отправлено|Дата|Кому|Тема"
    r"|发送时间|日期|收件人|主题|寄件日期|收件者|主旨|보낸 ?날짜|날짜|받는 ?사람|제목"
    r")\*{0,2}\s*[:\uff1a]\*{0,2}\s*\S",
    re.IGNORECASE,
)
"""What Outlook, and forwarding programs, write above an earlier mail in the user's language."""
_FIRST_FIELD = re.compile(rf"\*{{0,2}}(?:{_SENDER})\*{{0,2}}\s*[:\uff1a]", re.IGNORECASE)
_DEVICE = re.compile(
    r"(?:Sent from (?:my |Mail for |Outlook).{0,60}|Get Outlook for .{0,60}"
    r"|(?:私の)?(?:iPhone|iPad|Android\S*|スマートフォン)から送信(?:しました)?。?)",
    re.IGNORECASE,
)
_FORWARD_SUBJECT = re.compile(
    r"\s*(?:fwd?|tr|転送|wg|rv|enc|vb|vs|vl|doorst|pd|转发|轉寄|전달)\s*[:\uff1a]", re.IGNORECASE
)
_FIELDS, _NEAR, _LONGEST_ATTRIBUTION = 2, 4, 500


class WrittenWords(NamedTuple):
    """What stands in a mail without quotations.

    `holds_others` says that words of others are left in it, as where a mail is forwarded.
    """

    text: str
    holds_others: bool


def written_words_of_email(text: str, subject: str = "") -> WrittenWords:
    """Return what the sender wrote; all of it, as others' words, if nothing would be left."""
    whole = text.replace("\r\n", "\n")
    # Who quotes a text marks its lines at LF: a CR in one begins no other, without a mark.
    whole = whole.replace("\r", " " if "\n" in whole else "\n")
    lines = [each.rstrip() for each in whole.split("\n")]
    is_forward = _FORWARD_SUBJECT.match(subject) is not None
    kept: list[str] = []
    holds_others = is_forward
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        if _FORWARDED.fullmatch(line):
            kept += lines[at:]
            holds_others = True
            break
        if line == "--" or (not is_forward and _begins_history(lines, at)):
            break
        taken = _attribution(lines, at)
        if taken:
            at += taken
            if not _is_quoted(lines, at):
                break
            continue
        if not line.startswith((">", "\uff1e")):
            kept.append(lines[at])
        at += 1
    written = _without_device(kept)
    if written or not text.strip():
        return WrittenWords(written, holds_others)
    return WrittenWords(text.strip(), holds_others=True)


def _begins_history(lines: Sequence[str], at: int) -> bool:
    """Check whether the block that Outlook puts above an earlier mail begins here."""
    line = lines[at].strip()
    if _ORIGINAL.fullmatch(line):
        following = [each.strip() for each in lines[at + 1 : at + 1 + _NEAR] if each.strip()]
        return bool(following) and _FIRST_FIELD.match(following[0]) is not None
    if _FIRST_FIELD.match(line) is None:
        return False
    return sum(_FIELD.match(each.strip()) is not None for each in lines[at + 1 : at + 6]) >= _FIELDS


def _attribution(lines: Sequence[str], at: int) -> int:
    """Return how many lines a line above a quotation takes here: programs break it at 76."""
    first = lines[at].strip()
    if not first or first.startswith(">"):
        return 0
    for count in (1, 2, 3):
        told = [each.strip() for each in lines[at : at + count]]
        if not all(told) or sum(map(len, told)) > _LONGEST_ATTRIBUTION:
            return 0
        # Only what begins with a date is broken into lines.
        known = _ATTRIBUTIONS if count == 1 else _DATED
        if _is_any(known, told):
            return 0 if any(_is_any(_DATED, told[n:]) for n in range(1, count)) else count
    return 0


def _is_any(patterns: Sequence[re.Pattern[str]], lines: Sequence[str]) -> bool:
    told = " ".join(lines)
    return any(each.fullmatch(told) for each in patterns)


def _is_quoted(lines: Sequence[str], at: int) -> bool:
    """Check whether the next line with words is marked as a quotation."""
    following = next((each.strip() for each in lines[at:] if each.strip()), "")
    return following.startswith((">", "\uff1e"))


def _without_device(lines: Sequence[str]) -> str:
    kept = list(lines)
    while kept and (not kept[-1].strip() or _DEVICE.fullmatch(kept[-1].strip())):
        kept.pop()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
