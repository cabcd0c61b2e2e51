"""The page of all routes and what each kind of key is answered, from the rules that are tested."""

from itertools import groupby

from opencrab.domain.value import Language
from tests.docs.reference.text import sentence, table
from tests.integration.rest.route_rules import KEYS, ROUTES, expected_answer

_TITLE = {Language.EN: "Routes and keys", Language.JA: "ルートとキー"}
_RULE = {Language.EN: "rule", Language.JA: "規則"}
_ROUTES = {Language.EN: "Routes of each rule", Language.JA: "規則ごとのルート"}
_ROUTE = {Language.EN: ("route", "rule"), Language.JA: ("ルート", "規則")}
_ALLOWED = {Language.EN: "yes", Language.JA: "可"}


def page(language: Language) -> str:
    """The page in one language."""
    rules = sorted(set(ROUTES.values()), key=list(ROUTES.values()).index)
    rows = [(rule, *(_answer(rule, key, language) for key in KEYS)) for rule in rules]
    lines = [f"# {_TITLE[language]}", "", sentence("pages", "access", language).strip(), ""]
    lines += table((_RULE[language], *KEYS), rows)
    lines += ["", f"## {_ROUTES[language]}", ""]
    listed = sorted(ROUTES, key=lambda route: rules.index(ROUTES[route]))
    for rule, routes in groupby(listed, key=ROUTES.__getitem__):
        shown: list[tuple[str, ...]] = [(f"`{each.replace(' /', ' /api/')}`",) for each in routes]
        lines += [f"### {rule}", "", sentence("access", rule, language), ""]
        lines += [*table((_ROUTE[language][0],), shown), ""]
    return "\n".join(lines).rstrip() + "\n"


def _answer(rule: str, key: str, language: Language) -> str:
    status = expected_answer(rule, key)
    return _ALLOWED[language] if status == 200 else str(status)
