"""What people see of a page, in Japanese and English; broken and hostile markup included."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencrab.adapters.web.extraction import extract_page
from opencrab.adapters.web.plain import strip_invisible_page_text, visible_web_page_line
from opencrab.domain.errors import Unavailable

ENGLISH = """<!DOCTYPE html><html><head><title> Crabs &amp;
 shells </title><style>p{color:red}</style><script>if (a < b) alert("</p>")</script></head>
<body><nav><ul><li><a href="/">Home</a></li></ul></nav><header><h1>About <em>crabs</em></h1>
</header><main><p>They walk <a href="/side">sideways</a>,
   always.</p><h2>Kinds</h2><ul><li>Red<li>Blue <b>king</b></ul><pre>
def crab():
    return 1
</pre><table><tr><th>Name<th>Legs<tr><td>Crab<td>10</table>one<br>two</main>
<aside>Advert</aside><footer>Imprint</footer></body></html>"""

JAPANESE = """<html lang=ja><head><title>蟹の話</title></head><body><h1>蟹</h1>
<p>蟹は<strong>横</strong>に歩く。<a href=/a>ガザミ</a>など。</p>
<ol><li>一つ目</li><li>二つ目</li></ol><div hidden>隠し</div><p style="display: none">見えない</p>
<p aria-hidden="true">飾り<p>終わり</body></html>"""


def test_an_english_page_is_read_as_people_see_it() -> None:
    title, text, more = extract_page(ENGLISH, 10_000)
    assert (title, more) == ("Crabs & shells", False)
    assert strip_invisible_page_text(text) == (
        "# About crabs\nThey walk sideways, always.\n\n## Kinds\n- Red\n- Blue king\n\n"
        "def crab():\n    return 1\nName | Legs\nCrab | 10\none\ntwo"
    )


def test_a_japanese_page_is_read_without_added_spaces() -> None:
    title, text, _ = extract_page(JAPANESE, 10_000)
    assert title == "蟹の話"
    assert text == "# 蟹\n蟹は横に歩く。ガザミなど。\n- 一つ目\n- 二つ目\n終わり"


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>x</script>", "<style>x</style>", "<template>x</template>", "<!-- x -->",
        "<noscript>x</noscript>", "<p hidden>x</p>", "<p HIDDEN=''>x</p>",
        "<svg><title>x</title></svg>",
        "<div style='DISPLAY : NONE'><p>x</p></div>", "<i style='font-size:0'>x</i>",
        "<i style='visibility:hidden'>x</i>", "<i style='opacity: 0;'>x</i>", "<![CDATA[x]]>",
        "<nav><div>x</div></nav>", "<iframe>x</iframe>", "<?x?>", "<!x>",
        "<textarea>x</textarea>", "<p hidden>x<p>", "<![if x]>", "<!ELEMENT x>",
        "<a title=x href=x>",
    ],
)  # fmt: skip
def test_what_is_hidden_is_passed_over_and_what_follows_is_not(hidden: str) -> None:
    for page in (f"<p>海{hidden}sea</p>", f"<div><p>海</p>{hidden}<p>sea</p></div>"):
        text = extract_page(page, 1_000)[1]
        assert "x" not in text
        assert "".join(text.split()) == "海sea"


def test_hidden_things_inside_each_other_end_where_they_should() -> None:
    page = "<div hidden><nav><p>a</nav><span>b</span></div><p>c</p></nav></div><p>d"
    assert extract_page(page, 1_000)[1] == "c\nd"


def test_text_is_read_only_as_far_as_it_is_needed() -> None:
    _, text, more = extract_page("<p>蟹</p>" * 200_000, 1_000)
    assert more
    assert 1_000 < len(text) < 40_000


def test_whoever_reads_may_stop_in_the_middle() -> None:
    def check() -> None:
        raise Unavailable("too late")

    with pytest.raises(Unavailable):
        extract_page("<p>x", 10, check)


@pytest.mark.parametrize("piece", ["<!--", "</", "<b></i>", "<![CDATA[", "&#", "<?", "<b hidden>"])
def test_markup_that_is_made_to_take_long_does_not(piece: str) -> None:
    def seconds(size: int) -> float:
        began = time.process_time()
        extract_page(piece * (size // len(piece)), 10_000)
        return time.process_time() - began

    # Eight times the markup would take 64 times as long if it were read again and again.
    floor = 0.01
    assert seconds(300_000) < 30 * max(seconds(37_500), floor)


@given(st.text("<>/!-[]&#;?=\"' \nabp蟹script hidden", max_size=80))
def test_no_markup_breaks_the_reading(html: str) -> None:
    title, text, _ = extract_page(html, 1_000)
    assert isinstance(title, str)
    assert isinstance(text, str)


@given(st.text(max_size=60))
def test_visible_text_stays_as_it_is_when_cleaned_again(text: str) -> None:
    once = strip_invisible_page_text(text)
    assert strip_invisible_page_text(once) == once
    assert not set(once) & set("\u202e\u2066\u200b\u00ad\x1b\x00\r")
    assert "\n" not in visible_web_page_line(text, 20)
    assert len(visible_web_page_line(text, 20)) <= 20
