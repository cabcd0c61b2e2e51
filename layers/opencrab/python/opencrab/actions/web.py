"""Reading web pages that the operator allowed, and querying a search service.

An address or a query that the model writes is sent to an outside server, and so counts as external;
what comes back is untrusted text.
"""

from pydantic import Field

from opencrab.actions.registry import Group
from opencrab.domain.access.impact import Impact
from opencrab.domain.errors import Invalid, Refused
from opencrab.domain.turn.action import ActionResult, Effect
from opencrab.domain.value import Text, Value
from opencrab.ports.turn.action import ActionContext, one_line

RESULT_BYTES = 48 * 1024
"""Upper limit of one result: a page is cut at 20 KB of text, and JSON may double that."""

_SHOWN = 300

group = Group("web")


class WebFetch(Value):
    url: Text = Field(max_length=2_048)


class WebSearch(Value):
    query: Text = Field(min_length=1, max_length=400)
    limit: int = Field(5, ge=1, le=10)


def _host_and_path(arguments: WebFetch) -> str:
    """Return what a request sends, host, path and query, on one line for the approval."""
    sent, _, _ = arguments.url.partition("#")
    return one_line(sent.removeprefix("https://"), _SHOWN)


def _query(arguments: WebSearch) -> str:
    return one_line(arguments.query, _SHOWN + 100)


def _impact(arguments: WebFetch, context: ActionContext) -> Impact:
    """Return READ if the URL is an allowed prefix as it stands, or is not allowed; else EXTERNAL.

    Everything after a prefix is text that a model may have made; a URL that is not allowed is not
    fetched.
    """
    web = context.reach.web
    try:
        prefix = None if web is None else web.prefix(arguments.url)
    except Invalid:
        prefix = None
    sent, _, _ = arguments.url.partition("#")
    return Impact.READ if prefix in {None, sent} else Impact.EXTERNAL


@group.action(
    impact=Impact.READ,
    effect=Effect.PURE,
    sentences=("Read the page {url}", "ページを読む: {url}"),
    ja="許可されたウェブページの文章を読みます。",
    touches=_host_and_path,
    impact_of=_impact,
    result_bytes=RESULT_BYTES,
)
def web_fetch(arguments: WebFetch, context: ActionContext) -> ActionResult:
    """Read the text of a web page that is allowed."""
    web = context.reach.web
    if web is None:
        raise Refused(
            "web access is not configured: web.allow is empty", cure="continue without it"
        )
    page = web.fetch(arguments.url)
    note = {"note": "The page is longer; only its beginning is shown."} if page.cut else {}
    shown = ActionResult.ok(url=page.url, title=page.title, text=page.text, cut=page.cut, **note)
    return shown.replaced(taint=True)


@group.action(
    impact=Impact.EXTERNAL,
    effect=Effect.PURE,
    sentences=("Search the web for {query}", "ウェブで検索する: {query}"),
    ja="ウェブを検索します。検索語は外部のサービスに送られます。",
    touches=_query,
)
def web_search(arguments: WebSearch, context: ActionContext) -> ActionResult:
    """Search the web; your query goes to an outside service."""
    service = context.reach.web_search
    if service is None:
        raise Refused("no search service is configured", cure="continue without it")
    if not arguments.query.strip():
        raise Invalid("query is blank", field="query", cure="write what to look for")
    results = [
        {"title": result.title, "url": result.url, "snippet": result.snippet}
        for result in service.search(arguments.query, arguments.limit)
    ]
    return ActionResult.ok(results=results).replaced(taint=True)
