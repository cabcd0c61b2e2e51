/** The schedules of an agent: when it does what, running one now, changing and deleting it. */

import { element, foreign, text, time, visibleText } from "../lib/elements.js";
import { newId } from "../lib/api.js";
import { action, card, link, pagedList } from "../lib/widgets.js";
import { frame, span } from "./frame.js";
import { everySchedule } from "./overview.js";
import { scheduleForm } from "./schedule_form.js";

/** @param {Page.Context} context */
export default async function page(context) {
  return frame(context, "/schedules", await context.readAgents(), (agent) => schedules(context, agent),
    (agents) => card("schedules_of_all", everySchedule(context, agents)));
}

/**
 * @param {Page.Context} context
 * @param {Rest.AgentView} agent
 */
function schedules({ api, isOwner, signal }, agent) {
  /** @type {`/agents/${string}/schedules`} */
  const path = `/agents/${encodeURIComponent(agent.id)}/schedules`;
  const list = pagedList(api, path, (each) => new Schedule(api, path, each, isOwner).element, { empty: "no_schedules", signal });
  const create = () => {
    // The same form sent again is the same schedule; the next one is another.
    let id = newId();
    return scheduleForm(null, async (draft) => {
      await api.post(path, draft, id);
      id = newId();
      await list.refresh();
    });
  };
  return [
    card("list_of_schedules", list),
    isOwner ? card("new_schedule", create()) : null,
  ];
}

class Schedule {
  /**
   * @param {Page.Api} api
   * @param {`/agents/${string}/schedules`} path
   * @param {Rest.ScheduleView} schedule
   */
  constructor(api, path, schedule, isOwner) {
    this.api = api;
    this.schedule = schedule;
    this.isOwner = isOwner;
    /** @type {`/agents/${string}/schedules/${string}`} */
    this.path = `${path}/${encodeURIComponent(schedule.id)}`;
    this.element = element("li", { "data-schedule": schedule.id });
    this.said = element("div", { role: "status" });
    this.show();
  }

  show() {
    const { schedule } = this;
    this.element.replaceChildren(
      element("div", { class: "line" },
        element("span", {}, element("strong", {}, foreign(schedule.name)), " ",
          element("span", { class: `badge ${schedule.enabled ? "active" : ""}` }, text(schedule.enabled ? "schedule_on" : "schedule_off"))),
        this.isOwner ? this.#actions() : ""),
      element("p", {}, whenSaid(schedule), schedule.next_at && schedule.enabled ? [" · ", text("next_run"), " ", time(schedule.next_at)] : "",
        schedule.last_at ? [" · ", text("last_run"), " ", time(schedule.last_at)] : "", ` · ${text("fired", { n: schedule.fired.toLocaleString() })}`),
      schedule.from_instructions ? element("p", { class: "hint" }, text("from_instructions")) : "",
      schedule.why_off ? element("p", { class: "hint" }, text(`off_${schedule.why_off}`)) : "",
      element("details", {}, element("summary", {}, text("what_it_does")), element("pre", { tabindex: 0 }, visibleText(schedule.instructions))),
      this.said, this.isOwner ? this.#change() : "");
  }

  #actions() {
    const named = (key) => ({ "aria-label": `${text(key)}: ${this.schedule.name}` });
    return [
      action("run_now", () => this.#run(), { "data-does": "run", ...named("run_now") }),
      action(this.schedule.enabled ? "schedule_pause" : "schedule_resume", () => this.#save({ ...draftOf(this.schedule), enabled: !this.schedule.enabled }),
        { "data-does": "switch", ...named(this.schedule.enabled ? "schedule_pause" : "schedule_resume") }),
      action("schedule_delete", () => this.#delete(), { ask: "schedule_delete_question", class: "reject", ...named("schedule_delete") }),
    ];
  }

  #change() {
    const details = element("details", {}, element("summary", {}, text("schedule_change")));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) {
        details.append(scheduleForm(this.schedule, (draft) => this.#save({ ...draftOf(this.schedule), ...draft })));
      }
    });
    return details;
  }

  async #save(draft) {
    this.schedule = await this.api.put(this.path, draft);
    this.said.replaceChildren(element("p", { class: "good" }, text("saved")));
    this.show();
  }

  async #run() {
    const { turn_ids: turns } = await this.api.post(`${this.path}/run`);
    this.said.replaceChildren(element("p", { class: "good" }, text("started"), turns.flatMap((id) => [" ", link(`/analytics/turns/${encodeURIComponent(id)}`, text("its_cost"))])));
  }

  async #delete() {
    await this.api.delete(this.path);
    this.element.remove();
  }
}

/** What a change keeps of a schedule: everything that it can set. */
const draftOf = ({ name, when, zone, instructions, enabled, session_id, channel }) => ({ name, when, zone, instructions, enabled, session_id, channel });

function whenSaid({ when, zone }) {
  const every = /^@every (\d+)([smhd])$/.exec(when);
  if (every) return text("every", { span: span(Number(every[1]) * { s: 1, m: 60, h: 3_600, d: 86_400 }[every[2]]) });
  return element("span", {}, element("code", {}, foreign(when)), " ", foreign(zone));
}
