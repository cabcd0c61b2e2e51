/** Searching a memory: what was found, why it was, and where it was said. */

import { element, foreign, hasText, text, time, visibleText } from "../lib/elements.js";
import { field, form, link } from "../lib/widgets.js";

const KINDS = ["speech", "instruction", "inner_voice", "memory", "experience", "summary"];
const MOST = 30;

/** @param {Page.Part} context */
export function search({ api, path, isOwner }) {
  const query = element("input", { type: "search", required: true, maxlength: 1_000, dir: "auto" });
  const kind = element("select", {}, element("option", { value: "" }, text("memory_every_kind")),
    KINDS.map((each) => element("option", { value: each }, text(`memory_kind_${each}`))));
  const [since, until] = [element("input", { type: "date" }), element("input", { type: "date" })];
  const found = element("div", { "aria-live": "polite" });
  const find = async () => {
    const body = { query: query.value.trim(), limit: MOST };
    if (kind.value) body.kinds = [kind.value];
    if (since.value) body.since = new Date(`${since.value}T00:00`).toISOString();
    if (until.value) body.until = nextDay(until.value);
    const { items } = await api.post(`${path}/memory/search`, body);
    found.replaceChildren(items.length === 0 ? element("p", { class: "empty" }, text("memory_nothing_found"))
      : element("ol", { class: "found" }, items.map((item) => row(item))));
  };
  const more = element("details", {}, element("summary", {}, text("memory_narrow")),
    element("div", { class: "filters" }, isOwner ? field("memory_kind", kind) : null, field("memory_since", since), field("memory_until", until)));
  return element("div", {}, form([field("memory_query", query, "memory_query_hint"), more], "memory_find", find, { done: "memory_found", role: "search" }), found);
}

/** The beginning of the day after, in the reader's zone: a day that is named is included. */
function nextDay(day) {
  const at = new Date(`${day}T00:00`);
  at.setDate(at.getDate() + 1);
  return at.toISOString();
}

const whyOf = (value) => (hasText(`memory_why_${value}`) ? text(`memory_why_${value}`) : visibleText(value));

/** @param {Rest.FoundView} item */
function row(item) {
  const why = item.why.map((each) => element("span", { class: "badge" }, whyOf(each)));
  const where = item.session_id ? link(`/sessions/${encodeURIComponent(item.session_id)}`, text("memory_line", { line: item.sequence })) : null;
  return element("li", {},
    element("p", { class: "prose", dir: "auto" }, visibleText(item.text)),
    element("div", { class: "marks" }, why, item.tainted ? element("span", { class: "badge waiting" }, text("memory_tainted")) : null,
      element("span", { class: "hint" }, text(`memory_kind_${item.kind}`), " · ", foreign(item.speaker), " · ", time(item.at), " · ",
        text(`memory_hearing_${item.hearing}`), where ? " · " : "", where)),
    item.excerpt && item.excerpt !== item.text
      ? element("details", {}, element("summary", {}, text("memory_around")), element("pre", { tabindex: 0 }, visibleText(item.excerpt))) : null);
}
