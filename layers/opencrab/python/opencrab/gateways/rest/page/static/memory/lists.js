/** Impressions, experiences and beliefs: lists by the page. */

import { explain } from "../lib/api.js";
import { element, foreign, problem, text, time, visibleText } from "../lib/elements.js";
import { action, facts, link, pagedList } from "../lib/widgets.js";

const percent = (share) => `${Math.round(share * 100)} %`;
const turnLink = (each) => (each.turn_id && each.session_id
  ? link(`/sessions/${encodeURIComponent(each.session_id)}/turns/${encodeURIComponent(each.turn_id)}`, text("memory_turn")) : null);
const taint = (each) => (each.tainted ? element("span", { class: "badge waiting" }, text("memory_tainted")) : null);
const prose = (value) => element("p", { class: "prose", dir: "auto" }, visibleText(value));

/** @param {Page.Part} context */
export function impressions({ api, path, signal }) {
  /** @param {Rest.ImpressionSummary} each */
  const row = (each) => element("li", {},
    element("div", { class: "line" }, element("strong", {}, foreign(each.target_name || each.target_id)), taint(each), element("span", { class: "hint" }, time(each.updated_at))),
    facts([["memory_personality", each.personality && foreign(each.personality)], ["memory_style", each.communication_style && foreign(each.communication_style)],
      ["memory_recently", each.recent_behavior && foreign(each.recent_behavior)], ["memory_agreement", each.agreement && foreign(each.agreement)],
      ["memory_notes", each.notes && foreign(each.notes)]]),
    past(api, `${path}/memory/impressions/${encodeURIComponent(each.target_id)}`));
  return pagedList(api, `${path}/memory/impressions`, row, { empty: "memory_no_impressions", signal });
}

/**
 * The sessions in which an impression was formed, read when somebody opens them.
 * @param {Page.Api} api
 * @param {`/agents/${string}/memory/impressions/${string}`} path
 */
function past(api, path) {
  const made = element("details", {}, element("summary", {}, text("memory_by_session")));
  made.addEventListener("toggle", async () => {
    if (!made.open || made.childElementCount > 1) return;
    try {
      const { history } = await api.get(path);
      made.append(element("ul", {}, history.map((each) => element("li", {}, time(each.at), " · ",
        foreign([each.recent_behavior, each.agreement, each.notes].filter(Boolean).join(" · ")), " ", turnLink(each)))));
    } catch (error) {
      made.append(problem(explain(error)));
    }
  });
  return made;
}

/** @param {Page.Part} context */
export function experiences({ api, path, signal }) {
  /** @param {Rest.ExperienceView} each */
  const row = (each) => element("li", {}, prose(each.experience),
    each.lesson ? element("p", { class: "prose" }, element("strong", {}, text("memory_lesson")), " ", foreign(each.lesson)) : null,
    element("div", { class: "marks" }, element("span", { class: `badge outcome-${each.outcome}` }, text(`memory_outcome_${each.outcome}`)), taint(each),
      each.retired_at ? element("span", { class: "badge" }, text("memory_retired")) : null, element("span", { class: "hint" }, time(each.at), " ", turnLink(each))));
  return pagedList(api, `${path}/memory/experiences`, row, { empty: "memory_no_experiences", signal });
}

/** @param {Page.Part} context */
export function beliefs({ api, path, signal }) {
  /** @param {Rest.BeliefView} each */
  const row = (each) => {
    const remove = async () => {
      await api.delete(`${path}/beliefs/${encodeURIComponent(each.id)}`);
      made.remove();
    };
    const shown = each.test_holds === null ? "open" : each.test_holds ? "holds" : "fails";
    const made = element("li", {}, prose(each.claim),
      each.test ? element("p", { class: "hint" }, text(`memory_test_${shown}`), " ", foreign(each.test)) : null,
      element("div", { class: "marks" }, element("span", { class: "badge" }, text("memory_confident", { share: percent(each.confidence) })), taint(each),
        element("span", { class: "hint" }, text("memory_tested", { confirmed: each.confirmed.toFixed(1), refuted: each.refuted.toFixed(1) }), " · ", time(each.formed_at), " ", turnLink(each)),
        action("memory_drop_belief", remove, { ask: "memory_drop_belief_question" })));
    return made;
  };
  return pagedList(api, `${path}/beliefs`, row, { empty: "memory_no_beliefs", signal });
}
