/** Files by the day on which they were changed, the newest first: what an agent wrote today. */

import { currentLanguage, element, foreign, text, time } from "../lib/elements.js";

const STEP = 100;

/** A list of `{path, modified_at}`; `onChosen(path)` when a file is chosen. */
export function byDay(files, chosen, onChosen) {
  const newest = (one, other) => (other.modified_at ?? "").localeCompare(one.modified_at ?? "");
  const sorted = [...files].sort(newest);
  const list = element("ul", { class: "days" });
  const more = element("button", { type: "button", class: "more", onclick: () => show() }, text("show_more"));
  const day = new Intl.DateTimeFormat(currentLanguage(), { dateStyle: "full" });
  const nameOf = (file) => (file.modified_at ? day.format(new Date(file.modified_at)) : text("workspace_no_day"));
  let shown = 0;
  let last = null;
  let entries = null;
  function show() {
    for (const file of sorted.slice(shown, shown + STEP)) {
      const name = nameOf(file);
      if (name !== last) {
        entries = element("ul");
        list.append(element("li", {}, element("h3", {}, name), entries));
        last = name;
      }
      entries.append(element("li", {}, element("button", {
        type: "button", class: "entry", "data-path": file.path, "aria-current": file.path === chosen ? "true" : null, onclick: () => onChosen(file.path),
      }, foreign(file.path), " ", element("span", { class: "hint" }, file.modified_at ? time(file.modified_at) : ""))));
    }
    shown += STEP;
    more.hidden = shown >= sorted.length;
  }
  show();
  return element("div", {}, list, more);
}
