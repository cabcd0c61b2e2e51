/** Other agents: which ones an agent may reach, what was promised, and how far it trusts each. */

import { element, foreign, text, time, visibleLine, visibleText } from "../lib/elements.js";
import { choice, tick } from "../lib/parts.js";
import { action, card, facts, field, form, link, pagedList, reading } from "../lib/widgets.js";

const REACHES = ["owner", "nobody", "listed"];
const NAMED = 20;
const percent = (share) => `${Math.round(share * 100)} %`;

/** @param {Page.Part} context */
export function peers(context) {
  const { api, path, signal } = context;
  const promises = api.get(`${path}/promises`);
  return element("div", { class: "cards" },
    card("memory_reach", reading(() => api.get(`${path}/peer-policy`), (found) => policy(context, found), { signal })),
    card("memory_promises", reading(() => promises.catch(() => api.get(`${path}/promises`)), (found) => promiseLists(context, found), { signal })),
    card("memory_known_peers", pagedList(api, `${path}/peers`, (each) => peerRow(context, each, promises), { empty: "memory_no_peers", signal })));
}

/**
 * Who may be reached: chosen by the owner; who it is now is read again after a change.
 * @param {Page.Part} context
 * @param {Rest.PeerPolicyView} found
 */
function policy({ api, path, agentId, readAgents }, found) {
  const reach = choice(REACHES.map((each) => [each, text(`memory_reach_${each}`)]), found.reach, null, { id: "peer-reach" });
  const list = element("fieldset", { class: "choice" }, element("legend", {}, text("memory_reach_who")));
  const inReach = element("p", {});
  const boxes = new Map();
  const showReached = (/** @type {Rest.PeerPolicyView} */ now) => inReach.replaceChildren(now.in_reach.length === 0 ? text("memory_reach_none")
    : element("span", {}, text("memory_reach_now"), " ", now.in_reach.slice(0, NAMED).flatMap((each, index) => [index ? ", " : "",
      link(`/agents/${encodeURIComponent(each.id)}/memory`, foreign(each.name))]),
    now.in_reach.length > NAMED ? text("memory_reach_more", { count: now.in_reach.length - NAMED }) : null));
  const showList = async () => {
    list.hidden = reach.value !== "listed";
    if (list.hidden || boxes.size > 0) return;
    for (const agent of await readAgents()) {
      if (agent.id === agentId || agent.status === "retired") continue;
      const box = tick("memory_agent", found.agents.includes(agent.id));
      box.element.lastElementChild.replaceChildren(foreign(agent.name));
      boxes.set(agent.id, box.input);
      list.append(box.element);
    }
  };
  const save = async () => {
    const agents = reach.value === "listed" ? [...boxes].filter(([, box]) => box.checked).map(([id]) => id) : [];
    showReached(await api.put(`${path}/peer-policy`, { reach: reach.value, agents }));
  };
  reach.addEventListener("change", showList);
  showReached(found);
  showList();
  return [inReach, form([field("memory_reach_rule", reach, "memory_reach_hint"), list], "save", save, { class: "quiet" })];
}

/**
 * @param {Page.Part} context
 * @param {Rest.PromisesView} found
 */
function promiseLists(context, found) {
  const list = (key, promises, who) => (promises.length === 0 ? null
    : [element("h3", {}, text(key)), element("ul", { class: "agents" }, promises.map((each) => promiseRow(context, each, who(each))))]);
  const names = (ids) => ids.map((id) => visibleLine(context.agentName(id))).join(", ");
  return [
    list("memory_promised", found.made, (each) => text("memory_to", { names: names(each.to) })),
    list("memory_promised_to_it", found.received, (each) => text("memory_by", { names: names([each.agent_id]) })),
    found.made.length + found.received.length === 0 ? element("p", { class: "empty" }, text("memory_no_promises")) : null,
  ];
}

/** @param {Rest.PromiseView} each */
function promiseRow(_context, each, who) {
  return element("li", {},
    element("p", { class: "prose", dir: "auto" }, visibleText(each.what)),
    element("div", { class: "marks" }, promiseBadge(each), element("span", { class: "hint" }, who, " · ", text("memory_due"), " ", time(each.due)),
      link(`/sessions/${encodeURIComponent(each.session_id)}`, text("memory_its_discussion"))),
    facts([["memory_done_when", each.done_when ? foreign(each.done_when) : null], ["memory_judged_by", each.evidence.length > 0 ? foreign(each.evidence.join(" · ")) : null],
      ["memory_reason", each.reason ? foreign(each.reason) : null]]));
}

const promiseBadge = ({ status }) => element("span", { class: `badge ${status}` }, text(`memory_promise_${status}`));

/**
 * @param {Page.Part} context
 * @param {Rest.PeerSummary} each
 * @param {Promise<Rest.PromisesView>} promises
 */
function peerRow({ api, path, agentName }, each, promises) {
  const remove = async () => {
    await api.delete(`${path}/peers/${encodeURIComponent(each.agent_id)}`);
    made.remove();
  };
  const history = element("div");
  promises.then((found) => history.replaceChildren(...trustHistory(each, found)), () => {});
  const made = element("li", {},
    element("div", { class: "line" }, element("strong", {}, foreign(agentName(each.agent_id))),
      each.tainted ? element("span", { class: "badge waiting" }, text("memory_tainted")) : null,
      each.last_at ? element("span", { class: "hint" }, time(each.last_at)) : null),
    element("meter", { min: 0, max: 1, value: each.trust, "aria-label": text("memory_trust") }),
    facts([["memory_trust", percent(each.trust)], ["memory_competence", percent(each.competence)], ["memory_reliability", percent(each.reliability)],
      ["memory_together", text("memory_successes", { successes: each.successes, interactions: each.interactions })],
      ["memory_last_together", each.last_session ? link(`/sessions/${encodeURIComponent(each.last_session)}`, text("memory_its_discussion")) : null],
      ["memory_interests", each.interests.length ? foreign(each.interests.join(", ")) : null]]),
    history, action("memory_drop_peer", remove, { ask: "memory_drop_peer_question" }));
  return made;
}

/** What moved the trust in a peer, as far as it is kept: its promises to this agent that were judged, newest first. */
function trustHistory(peer, { received }) {
  const judged = received.filter((each) => each.agent_id === peer.agent_id && ["kept", "broken"].includes(each.status));
  if (judged.length === 0) return [];
  const newest = (one, other) => (other.ended_at ?? "").localeCompare(one.ended_at ?? "");
  return [element("details", {}, element("summary", {}, text("memory_trust_history", { count: judged.length })),
    element("p", { class: "hint" }, text("memory_trust_hint")),
    element("ul", { class: "agents" }, judged.sort(newest).map((each) => element("li", { class: "line" },
      element("span", { dir: "auto" }, visibleText(each.what)), promiseBadge(each), each.ended_at ? time(each.ended_at) : null))))];
}
