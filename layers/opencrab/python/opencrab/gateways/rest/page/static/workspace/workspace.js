/** An agent's files: a tree, and beside it the file that was chosen. */

import { element, foreign, loadWords, text } from "../lib/elements.js";
import { choice } from "../lib/parts.js";
import { mayLeave } from "../lib/unsaved.js";
import { field, heading, reading } from "../lib/widgets.js";
import { byDay } from "./by_day.js";
import { FileView } from "./file.js";
import { tree } from "./tree.js";
import { upload } from "./upload.js";

const MOST = 2_000;

/** @param {Page.Context} context */
export default async function page(context) {
  await loadWords("workspace");
  const { api, params, query, isOwner, signal } = context;
  /** @type {Page.Agent} */
  const path = `/agents/${encodeURIComponent(params.id)}`;
  const here = `/agents/${encodeURIComponent(params.id)}/workspace`;
  const shown = element("div", { class: "file" }, element("p", { class: "empty" }, text("workspace_choose")));
  let chosen = null;
  const isByDay = query.get("by") === "day";
  const order = choice([["folder", text("workspace_by_folder")], ["day", text("workspace_by_day")]], isByDay ? "day" : "folder", () => reorder(), { id: "workspace-order" });
  const files = reading(() => api.list(`${path}/workspace`, MOST), (found) => {
    if (found.length === 0) return element("p", { class: "empty" }, text("workspace_none"));
    const arrange = order.value === "day" ? byDay : tree;
    return [arrange(found, chosen, choose), found.length >= MOST ? element("p", { class: "hint" }, text("workspace_more", { count: MOST })) : null];
  }, { signal });

  /** The address says what is chosen and in which order, so that it can be opened again. */
  function showAddress() {
    const asked = new URLSearchParams();
    if (chosen !== null) asked.set("file", chosen);
    if (order.value === "day") asked.set("by", "day");
    history.replaceState(null, "", asked.size > 0 ? `${here}?${asked}` : here);
  }

  function reorder() {
    showAddress();
    files.refresh();
  }

  async function choose(name) {
    if (!mayLeave(shown)) return;
    chosen = name;
    showAddress();
    for (const each of files.querySelectorAll("[data-path]")) {
      if (each.dataset.path === name) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
    }
    const view = new FileView({ api, path, isOwner }, name, {
      onChanged: () => files.refresh(),
      onGone: () => {
        chosen = null;
        shown.replaceChildren(element("p", { class: "empty" }, text("workspace_gone")));
        files.refresh();
      },
    });
    await view.read();
    if (chosen === name) shown.replaceChildren(view.element);
  }

  const wanted = query.get("file");
  if (wanted) await choose(wanted);
  return element("section", { id: "view-workspace" },
    heading([text("workspace_of"), " ", foreign(context.agentName(params.id))]),
    element("div", { class: "workspace" },
      element("div", { class: "tree" }, isOwner ? upload({ api, path }, async (name) => {
        await files.refresh();
        await choose(name);
      }) : null, field("workspace_order", order), files),
      shown));
}
