/** The versions of a file, and what differs between two of them. */

import { explain } from "../lib/api.js";
import { element, problem, text, time } from "../lib/elements.js";
import { action, field, form } from "../lib/widgets.js";
import { difference } from "./difference.js";
import { size } from "./tree.js";

const MOST = 200_000;

/** A part that reads the versions of a file when somebody opens it. */
export function versions(file) {
  const content = element("div");
  const made = element("details", { class: "versions" }, element("summary", {}, text("workspace_versions")), content);
  made.addEventListener("toggle", async () => {
    if (!made.open || content.childElementCount > 0) return;
    try {
      const { items } = await file.api.get(file.address.replace("/workspace/", "/workspace-versions/"));
      content.replaceChildren(items.length === 0 ? element("p", { class: "empty" }, text("workspace_no_versions")) : comparison(file, items));
    } catch (error) {
      content.replaceChildren(problem(explain(error)));
    }
  });
  return made;
}

function comparison(file, items) {
  const options = () => items.map((each) => element("option", { value: each.version }, `${time(each.at).title} · ${size(each.size)}${each.is_current ? ` · ${text("workspace_current")}` : ""}`));
  const older = element("select", {}, options());
  const newer = element("select", {}, options());
  older.value = items[Math.min(1, items.length - 1)].version;
  newer.value = items[0].version;
  const found = element("div", { "aria-live": "polite" });
  const compare = async () => {
    const [before, after] = await Promise.all([textOf(file, older.value), textOf(file, newer.value)]);
    found.replaceChildren(element("pre", { tabindex: 0, role: "group", "aria-label": text("workspace_difference") }, difference(before, after)));
  };
  const back = items.some((each) => !each.is_current) && file.isOwner
    ? action("workspace_restore", () => file.restore(older.value), { ask: "workspace_restore_question" }) : null;
  return element("div", {}, form([element("div", { class: "grid" }, field("workspace_older", older), field("workspace_newer", newer))],
    "workspace_compare", compare, { done: "workspace_compared", class: "quiet" }), found, back);
}

async function textOf(file, version) {
  const answer = await file.api.file(`${file.address}?version=${encodeURIComponent(version)}`);
  const isText = (answer.headers.get("Content-Type") ?? "").startsWith("text/plain");
  const blob = await answer.blob();
  if (!isText || blob.size > MOST) throw Object.assign(new Error(text("workspace_not_comparable")), { status: 0 });
  return blob.text();
}
