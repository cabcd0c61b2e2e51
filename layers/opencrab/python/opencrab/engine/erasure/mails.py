"""Mails that are kept in order to answer them: those of a forgotten person are removed."""

from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home

_LETTER, _SENDER = "email_letter", "email-"
_PAGE = 100


def drop_letters_and_mails(home: Home, wish: ErasureRequest) -> None:
    """Remove what is kept of a forgotten person's messages: given up ones, and mails."""
    if wish.scope is ErasureScope.PERSON:
        home.eraser.drop_letters(str(wish.id))
        forget_kept_mails(home.facts, str(wish.id))


def forget_kept_mails(facts: Documents, person_id: str) -> None:
    """Remove what is kept of a person's mails; their ids begin with the person's."""
    if not person_id.startswith(_SENDER):
        return
    beginning = f"{person_id.removeprefix(_SENDER)}."
    while True:
        found = facts.page(INSTALLATION_FACTS, _LETTER, after=beginning, limit=_PAGE)
        mails = [each for each in found if each.id.startswith(beginning)]
        for each in mails:
            facts.commit(each.removed())
        if len(mails) < _PAGE:
            return
