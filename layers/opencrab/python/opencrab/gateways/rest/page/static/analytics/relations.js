/** Whom one agent knows and trusts, what it knows, and what its memory is worth. */

import { graph, percent } from "../lib/charts.js";
import { element, foreign, text } from "../lib/elements.js";
import { card, facts, reading, table } from "../lib/widgets.js";
import { agentFrame, asOf, effect } from "./frame.js";
import { trustOf } from "./page.js";

const MOST_NODES = 40;

/** @param {Page.Context} context */
export default async function page(context) {
  const { api, params, agentName, readAgents, signal } = context;
  /** @type {Page.Agent} */
  const base = `/agents/${encodeURIComponent(params.agent)}`;
  return agentFrame({ ...context, agents: await readAgents() }, "/relations",
    card("figures_peers", reading(() => api.list(`${base}/peers`, 200), (found) => peers(found, params.agent, agentName), { signal })),
    reading(() => api.get(`${base}/analytics/memory?limit=100`), (found) => memory(found), { signal }));
}

/** @param {Rest.PeerSummary[]} found */
function peers(found, me, agentName) {
  if (found.length === 0) return element("p", { class: "empty" }, text("figures_no_peers"));
  const nodes = [me, ...found.map((each) => each.agent_id)].slice(0, MOST_NODES).map((id) => ({ id, name: agentName(id) }));
  const edges = found.map((peer) => ({ from: me, to: peer.agent_id, weight: peer.trust, said: trustOf(peer) }));
  return [
    graph(text("whom_it_trusts"), nodes, edges, { headings: [text("figure_agent"), text("figure_knows"), text("figure_trust")] }),
    table(["figure_knows", "figure_trust", "figure_reliability", "figure_competence", "figure_interactions"], found.map((each) => [
      foreign(agentName(each.agent_id)), percent(each.trust), percent(each.reliability), percent(each.competence),
      text("interactions_of", { n: each.interactions, successes: each.successes })]), { caption: "figures_peers" }),
  ];
}

/** @param {Rest.MemoryAnalyticsView} found */
function memory(found) {
  const { recalled, graph: known } = found;
  const nodes = known.nodes.slice(0, MOST_NODES).map((each) => ({ id: each.id, name: each.label }));
  const edges = known.edges.map((each) => ({ from: each.origin, to: each.target, weight: each.weight, said: each.relation }));
  return [
    card("figures_people", known.people.length === 0 ? element("p", { class: "empty" }, text("figures_no_people"))
      : table(["figure_person", "figure_agreement", "figure_trust", "figure_interactions"], known.people.map((each) => [
        element("span", {}, foreign(each.name), each.is_peer ? ` · ${text("is_agent")}` : ""), each.agreement === null ? "–" : foreign(each.agreement),
        each.trust === null ? "–" : percent(each.trust), each.interactions === null ? "–" : String(each.interactions)]), { caption: "figures_people" })),
    card("figures_knowledge", nodes.length === 0 ? element("p", { class: "empty" }, text("figures_no_knowledge")) : [
      element("p", { class: "hint" }, text("knowledge_of", { nodes: nodes.length, all: known.nodes_in_all, edges: known.edges_in_all })),
      graph(text("what_it_knows"), nodes, edges.filter(({ from, to }) => nodes.some(({ id }) => id === from) && nodes.some(({ id }) => id === to)),
        { headings: [text("figure_from"), text("figure_to"), text("figure_relation")] })]),
    card("figures_memory", asOf(found), facts([
      ["figure_memories", recalled.memories.toLocaleString()], ["figure_recalled", recalled.found.toLocaleString()], ["figure_useful", recalled.useful.toLocaleString()],
      ["figure_junk_rate", recalled.junk_rate === null ? null : percent(recalled.junk_rate)], ["memory_effect", effect(found.effect)]])),
  ];
}
