"""The text of HTML mails: what people see, with quotations marked."""

from opencrab.domain.email.html_text import text_of_email_html
from opencrab.domain.email.quotation import written_words_of_email

GMAIL = """<html><head><style>p{}</style></head><body><div dir="ltr">はい、<b>明日</b>
です。<br>よろしく<p>1</p><p>2</p><a href="https://example.org/a">ここ</a></div><br>
<div class="gmail_quote"><div class="gmail_attr">2026年11月30日(月) 10:00 蟹
&lt;<a href="mailto:crab@example.org">crab@example.org</a>&gt;:<br></div>
<blockquote class="gmail_quote">いつ?<br>どこ?</blockquote></div></body></html>"""


def test_what_is_seen_is_read_line_by_line() -> None:
    assert text_of_email_html(GMAIL) == (
        "はい、明日 です。\nよろしく\n1\n\n2\n\nここ (https://example.org/a)\n\n"
        "2026年11月30日(月) 10:00 蟹 <crab@example.org>:\n> いつ?\n> どこ?"
    )
    assert written_words_of_email(text_of_email_html(GMAIL)).text.endswith("org/a)")


def test_what_nobody_sees_is_not_read() -> None:
    hidden = (
        '<p>seen<span style="display: none">a</span><i style="font-size:0px">b</i>'
        "<script>c</script><!-- d --><b hidden>e</b><noscript>f</noscript></p>"
        '<p style="font-size:0.9em">also</p>'
    )
    assert text_of_email_html(hidden) == "seen\n\nalso"


def test_lines_marked_as_quoted_stay_so_and_broken_marks_end() -> None:
    assert text_of_email_html("<p>mine<br>&gt; yours</p>") == "mine\n> yours"
    assert text_of_email_html("<div><b>open<div></i>x</table>") == "open\nx"
    assert text_of_email_html('<a href="javascript:x">y</a><br><!--') == "y"
