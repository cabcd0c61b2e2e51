/** An agent's files: a tree, and beside it the file that was chosen. */

import { element, foreign, loadWords, text } from "../lib/elements.js";
import { mayLeave } from "../lib/unsaved.js";
import { heading, reading } from "../lib/widgets.js";
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
  const read = async () => {
    const files = await api.list(`${path}/workspace`, MOST);
    return files;
  };
  const files = reading(read, (found) => {
    if (found.length === 0) return element("p", { class: "empty" }, text("workspace_none"));
    return [tree(found, chosen, choose), found.length >= MOST ? element("p", { class: "hint" }, text("workspace_more", { count: MOST })) : null];
  }, { signal });

  async function choose(name) {
    if (!mayLeave(shown)) return;
    chosen = name;
    history.replaceState(null, "", `${here}?file=${encodeURIComponent(name)}`);
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
      }) : null, files),
      shown));
}
