"""The page behind a signed link: what an agent asks, and two buttons; HTML without any script."""

import base64
import hashlib
import re
from html import escape

from fastapi import Response

from opencrab.domain.approvals.approval import Approval, ApprovalState
from opencrab.domain.approvals.call_text import approval_hash
from opencrab.domain.text.visible import text_line_showing_hidden
from opencrab.domain.value import Language
from opencrab.engine.approvals.call_card import CallCard
from opencrab.ports.texts import Texts

DECISION, HASH = "decision", "argument_hash"
APPROVE, REJECT = "approve", "reject"

_STYLE = (
    "body{font:1rem/1.6 system-ui,sans-serif;max-width:38rem;margin:3rem auto;padding:0 1rem;"
    "color:#1b1b1b;background:#fff}h1{font-size:1.3rem}dt{color:#666;font-size:.85rem}"
    "dd{margin:0 0 1rem;overflow-wrap:anywhere}button{font:inherit;padding:.5rem 1.5rem;"
    "margin-right:1rem;border:1px solid #888;border-radius:.4rem;background:#f4f4f4}"
    "button[value=approve]{background:#1f6f43;border-color:#1f6f43;color:#fff}"
    ".warn{border-left:4px solid #b35c00;padding-left:.8rem}"
    "details{margin:0 0 1rem}summary{color:#666;font-size:.85rem}"
    "pre{font:.85rem/1.5 ui-monospace,monospace;margin:.3rem 0;padding:.6rem;max-height:60vh;"
    "overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;direction:ltr;"
    "unicode-bidi:isolate;border:1px solid #ccc;border-radius:.4rem;background:#f8f8f8}"
    "code{font:.85rem ui-monospace,monospace;overflow-wrap:anywhere}"
    "mark{background:#ffd8a8;color:#7a2e00}ins{background:#e3f5e6;text-decoration:none}"
    "del{background:#fde7e7;text-decoration:none}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}
_WORDS = Texts(__file__)
_MARK = re.compile(r"⟨U\+[^⟩]+⟩")


def approval_link_question_page(
    approval: Approval, agent: str, language: Language, card: CallCard | None
) -> Response:
    """Return the page that asks: the agent, every byte of the call, and two buttons.

    Without a card, when its records are gone, the call can only be rejected.
    """
    # What the engine describes is one line and visible since it was asked; a name is only one line.
    rows = (
        ("what", approval.what),
        ("touches", approval.touches),
        ("action", f"{approval.action} ({approval.impact.value})"),
    )
    said = "".join(
        f"<dt>{_word(key, language)}</dt><dd><bdi>{_marked_html(text)}</bdi></dd>"
        for key, text in rows
    )
    warning = f'<p class="warn">{_word("tainted", language)}</p>' if approval.tainted else ""
    name = f"<strong><bdi>{_marked_html(text_line_showing_hidden(agent))}</bdi></strong>"
    asks = _word("asks", language).format(agent=name)
    body = (
        f"<p>{asks}</p><dl>{said}</dl>{_call(card, language)}{warning}"
        f"{_form(card, language)}<p>{_word('once', language)}</p>"
    )
    return _page(body, language, 200)


def _call(card: CallCard | None, language: Language) -> str:
    """Show the whole call: its hash, its arguments and what they change, open and scrollable."""
    if card is None:
        return f'<p class="warn">{_word("gone", language)}</p>'
    hashed = card.argument_hash
    parts = [
        f"<dl><dt>{_word('hash', language)}</dt><dd><code><strong>{approval_hash(hashed)}</strong>"
        f"{hashed.removeprefix(approval_hash(hashed))}</code></dd></dl>",
        _foldable_text("arguments", card.text, _marked_html(card.text), language),
    ]
    if card.diff:
        parts.append(_foldable_text("diff", card.diff, _diff_lines(card.diff), language))
    return "".join(parts)


def _foldable_text(key: str, text: str, content: str, language: Language) -> str:
    counted = _word("counted", language).format(
        characters=f"{len(text):,}", lines=f"{text.count(chr(10)) + 1:,}"
    )
    head = f"{_word(key, language)} · {counted}"
    return f'<details open><summary>{head}</summary><pre tabindex="0">{content}</pre></details>'


def _diff_lines(diff: str) -> str:
    """Colour what is removed and added; the first two lines name the file."""
    head, lines = diff.split("\n")[:2], diff.split("\n")[2:]
    return "\n".join([*map(_marked_html, head), *map(_diff_line, lines)])


def _diff_line(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1])
    return _marked_html(line) if tag is None else f"<{tag}>{_marked_html(line)}</{tag}>"


def _marked_html(visible: str) -> str:
    """Escape a text that is visible already, with its marks highlighted."""
    return _MARK.sub(r"<mark>\g<0></mark>", escape(visible))


def _form(card: CallCard | None, language: Language) -> str:
    choices = (REJECT,) if card is None else (APPROVE, REJECT)
    buttons = "".join(
        f'<button name="{DECISION}" value="{value}">{_word(value, language)}</button>'
        for value in choices
    )
    hashed = "" if card is None else card.argument_hash
    hidden = f'<input type="hidden" name="{HASH}" value="{hashed}">'
    return f'<form method="post">{hidden}{buttons}</form>'


def approval_decision_page(
    approval: Approval, language: Language, status: int, *, with_call: bool
) -> Response:
    """Return the page that shows the decision on an approval, and what the call was."""
    state = approval.state
    key = "busy" if state is ApprovalState.PENDING else state.value
    what = f"<dl><dd><bdi>{_marked_html(approval.what)}</bdi></dd></dl>" if with_call else ""
    body = f"<p>{_word(key, language)}</p>{what}"
    return _page(body, language, status)


def approval_sentence_page(key: str, language: Language, status: int) -> Response:
    """Return a page with one sentence, for a link that cannot be decided."""
    return _page(f"<p>{_word(key, language)}</p>", language, status)


def _page(body: str, language: Language, status: int) -> Response:
    title = _word("title", language)
    content = (
        f'<!doctype html><html lang="{language.value}"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>OpenCrab</title><style>{_STYLE}</style><h1>{title}</h1>{body}</html>"
    )
    return Response(content, status, _HEADERS, media_type="text/html; charset=utf-8")


def _word(key: str, language: Language) -> str:
    return _WORDS[key][language]
