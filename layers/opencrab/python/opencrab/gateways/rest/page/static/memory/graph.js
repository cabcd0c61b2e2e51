/** The knowledge graph: a picture of what is connected most, and all of it as a list. */

import { element, foreign, text, time, visibleText } from "../lib/elements.js";
import { reading, table } from "../lib/widgets.js";
import { drawing } from "./drawing.js";

const PAGE = 200;
const MOST_PAGES = 10;
const MOST_DRAWN = 80;

/** @param {Page.Part} context */
export function graph({ api, path, signal }) {
  return reading(() => whole(api, `${path}/memory/graph`), ({ nodes, edges, isWhole }) => {
    if (nodes.length === 0) return element("p", { class: "empty" }, text("memory_no_graph"));
    const shown = connected(nodes, edges).slice(0, MOST_DRAWN);
    const labels = new Map(nodes.map((node) => [node.id, node.label]));
    const name = (id) => foreign(labels.get(id) ?? id);
    const detail = element("div", { class: "card", "aria-live": "polite" }, element("p", { class: "hint" }, text("memory_graph_hint")));
    return [
      element("p", { class: "hint" }, text("memory_graph_size", { nodes: nodes.length, edges: edges.length, shown: shown.length }),
        isWhole ? "" : ` ${text("memory_graph_more")}`),
      drawing(shown, edges, (node) => detail.replaceChildren(...about(node, edges, name))),
      detail,
      element("h2", {}, text("memory_as_list")),
      table(["memory_node", "memory_what", "memory_source", "memory_confidence"], nodes.map((node) => [
        foreign(node.label), foreign(node.content), text(`memory_source_${node.source}`), node.confidence.toFixed(2)]), { caption: "memory_nodes" }),
      table(["memory_node", "memory_relation", "memory_node", "memory_weight"], edges.map((edge) => [
        name(edge.origin), foreign(edge.relation), name(edge.target), edge.weight.toFixed(2)]), { caption: "memory_relations" }),
    ];
  }, { signal });
}

/**
 * The graph as far as a person can look at it.
 * @param {Page.Api} api
 * @param {`/agents/${string}/memory/graph`} path
 */
async function whole(api, path) {
  /** @type {{ nodes: Rest.NodeView[], edges: Rest.EdgeView[], isWhole: boolean }} */
  const found = { nodes: [], edges: [], isWhole: false };
  let cursor = "";
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const next = await api.get(`${path}?limit=${PAGE}${cursor}`);
    found.nodes.push(...next.nodes);
    found.edges.push(...next.edges);
    if (next.next_cursor === null) return { ...found, isWhole: true };
    cursor = `&cursor=${encodeURIComponent(next.next_cursor)}`;
  }
  return found;
}

/** The nodes, those with most relations first. */
function connected(nodes, edges) {
  const counts = new Map();
  for (const { origin, target } of edges) {
    for (const id of [origin, target]) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return [...nodes].sort((one, other) => (counts.get(other.id) ?? 0) - (counts.get(one.id) ?? 0));
}

function about(node, edges, name) {
  const its = edges.filter((edge) => edge.origin === node.id || edge.target === node.id);
  return [
    element("h3", {}, foreign(node.label)), element("p", { class: "prose" }, visibleText(node.content)),
    element("p", { class: "hint" }, text(`memory_source_${node.source}`), " · ", node.confidence.toFixed(2), " · ", time(node.updated_at),
      node.tainted ? ` · ${text("memory_tainted")}` : ""),
    element("ul", {}, its.map((edge) => element("li", {}, name(edge.origin), " → ", foreign(edge.relation), " → ", name(edge.target)))),
  ];
}
