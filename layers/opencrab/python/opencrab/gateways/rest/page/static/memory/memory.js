/** What one agent remembers: searched, curated, and how it sees people, the world and itself. */

import { download } from "../lib/download.js";
import { element, foreign, text, visibleText } from "../lib/elements.js";
import { action, card, field, heading, tabs } from "../lib/widgets.js";
import { curated } from "./curated.js";
import { graph } from "./graph.js";
import { beliefs, experiences, impressions } from "./lists.js";
import { overview } from "./overview.js";
import { peers } from "./peers.js";
import { search } from "./search.js";

/** @param {Page.Context} context */
export default async function page(context) {
  const agents = await context.readAgents();
  if (agents.length === 0) return element("section", {}, heading(text("memory")), element("p", { class: "empty" }, text("memory_no_agents")));
  const id = context.params.id ?? (agents.length === 1 ? agents[0].id : "");
  if (id !== "" && !agents.some((each) => each.id === id)) {
    return element("section", { id: "view-memory" }, heading(text("memory")), element("p", { class: "empty" }, text("no_such_agent")));
  }
  const choice = element("select", { onchange: () => change() },
    element("option", { value: "" }, text("every_agent")), agents.map((agent) => element("option", { value: agent.id }, visibleText(agent.name))));
  choice.value = id;
  const change = async () => {
    await context.go(choice.value ? `/agents/${encodeURIComponent(choice.value)}/memory` : "/memory");
    choice.value = id;
  };
  if (id === "") {
    return element("section", { id: "view-memory" }, heading(text("memory")), element("div", { class: "filters" }, field("memory_agent", choice)),
      card("memory_of_all", overview(context, agents)));
  }
  /** @type {Page.Context & Page.Part} */
  const shown = { ...context, agentId: id, path: `/agents/${encodeURIComponent(id)}` };
  const parts = [["memory_search", () => search(shown)]];
  if (context.isOwner) {
    parts.push(
      ["memory_curated", () => curated(shown)], ["memory_impressions", () => impressions(shown)],
      ["memory_experiences", () => experiences(shown)], ["memory_beliefs", () => beliefs(shown)],
      ["memory_peers", () => peers(shown)], ["memory_graph", () => graph(shown)]);
  }
  const name = visibleText(context.agentName(id));
  const save = () => download(context.api, `${shown.path}/memory/export`, `${name}-memory.zip`);
  return element("section", { id: "view-memory" },
    heading([text("memory_of"), " ", foreign(name)], context.isOwner ? action("memory_export", save) : ""),
    element("div", { class: "filters" }, field("memory_agent", choice)),
    tabs("memory", parts));
}
