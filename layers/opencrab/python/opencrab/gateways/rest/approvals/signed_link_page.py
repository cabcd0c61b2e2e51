"""The page behind a signed link: what an agent asks, and two buttons; HTML without any script."""

import base64
import hashlib
from html import escape

from fastapi import Response

from opencrab.domain.approvals.approval import Approval, ApprovalState
from opencrab.domain.value import Language
from opencrab.ports.texts import Texts
from opencrab.ports.turn.action import one_line

DECISION = "decision"
APPROVE, REJECT = "approve", "reject"

_LINE = 400
_STYLE = (
    "body{font:1rem/1.6 system-ui,sans-serif;max-width:38rem;margin:3rem auto;padding:0 1rem;"
    "color:#1b1b1b;background:#fff}h1{font-size:1.3rem}dt{color:#666;font-size:.85rem}"
    "dd{margin:0 0 1rem;overflow-wrap:anywhere}button{font:inherit;padding:.5rem 1.5rem;"
    "margin-right:1rem;border:1px solid #888;border-radius:.4rem;background:#f4f4f4}"
    "button[value=approve]{background:#1f6f43;border-color:#1f6f43;color:#fff}"
    ".warn{border-left:4px solid #b35c00;padding-left:.8rem}"
)
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}
_WORDS = Texts(__file__)


def approval_page(approval: Approval, agent: str, language: Language) -> Response:
    """The question: who asks, what it does, what it touches, and the two answers."""
    rows = (
        ("what", approval.what),
        ("touches", approval.touches),
        ("action", f"{approval.action} ({approval.impact.value})"),
    )
    said = "".join(
        f"<dt>{_word(key, language)}</dt><dd>{_escape_untrusted_text(text)}</dd>"
        for key, text in rows
    )
    warning = f'<p class="warn">{_word("tainted", language)}</p>' if approval.tainted else ""
    buttons = "".join(
        f'<button name="{DECISION}" value="{value}">{_word(value, language)}</button>'
        for value in (APPROVE, REJECT)
    )
    asks = _word("asks", language).format(agent=f"<strong>{_escape_untrusted_text(agent)}</strong>")
    body = (
        f"<p>{asks}</p><dl>{said}</dl>{warning}"
        f'<form method="post">{buttons}</form><p>{_word("once", language)}</p>'
    )
    return _page(body, language, 200)


def decision_page(approval: Approval, language: Language, status: int) -> Response:
    """What became of an approval."""
    state = approval.state
    key = "busy" if state is ApprovalState.PENDING else state.value
    body = f"<p>{_word(key, language)}</p><dl><dd>{_escape_untrusted_text(approval.what)}</dd></dl>"
    return _page(body, language, status)


def approval_page_text(key: str, language: Language, status: int) -> Response:
    """One sentence, where nothing can be decided."""
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


def _escape_untrusted_text(text: str) -> str:
    """Words of an agent or a person: one visible line that cannot turn the rest around."""
    return f"<bdi>{escape(one_line(text, _LINE))}</bdi>"
