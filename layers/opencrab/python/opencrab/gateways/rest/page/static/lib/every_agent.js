/** A list over all agents. What a row shows is read when somebody sees it, so hundreds cost what is looked at. */

import { element, foreign, text } from "./elements.js";
import { field, link, reading } from "./widgets.js";

const SEARCHED_FROM = 10;
const NEAR = "200px";

/**
 * `address(agent)` is where a row leads; `read(agent)` and `show(found, agent)` make what it shows.
 * @template T
 * @param {Rest.AgentView[]} agents
 * @param {(agent: Rest.AgentView) => string} address
 * @param {(agent: Rest.AgentView) => Promise<T>} read
 * @param {(found: T, agent: Rest.AgentView) => any} show
 * @param {AbortSignal} signal
 */
export function everyAgent(agents, address, read, show, signal) {
  const waiting = new Map();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      waiting.get(target)?.();
      waiting.delete(target);
    }
  }, { rootMargin: NEAR });
  signal.addEventListener("abort", () => observer.disconnect());
  const rows = agents.map((agent) => {
    const made = element("li", {}, element("strong", {}, link(address(agent), foreign(agent.name))));
    waiting.set(made, () => made.append(reading(() => read(agent), (found) => show(found, agent), { signal })));
    observer.observe(made);
    return { made, name: agent.name.toLocaleLowerCase() };
  });
  const none = element("p", { class: "empty", role: "status", hidden: agents.length > 0 }, text("every_none"));
  const search = element("input", { type: "search", autocomplete: "off", oninput: () => {
    const wanted = search.value.trim().toLocaleLowerCase();
    for (const { made, name } of rows) made.hidden = !name.includes(wanted);
    none.hidden = rows.some(({ made }) => !made.hidden);
  } });
  return element("div", { class: "every-agent" }, agents.length >= SEARCHED_FROM ? field("every_find", search) : null,
    element("ul", { class: "paged" }, rows.map(({ made }) => made)), none);
}

/** What a row says where there is nothing to say. */
export const nothing = (key) => element("span", { class: "hint" }, text(key));
