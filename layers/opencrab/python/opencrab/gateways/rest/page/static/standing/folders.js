/** Folders of the owner's computer that serve as an agent's vault or workspace. */

import { element, foreign, text } from "../lib/elements.js";
import { action, field, form, link, reading } from "../lib/widgets.js";

const PLACES = /** @type {const} */ (["vault", "workspace"]);

/**
 * @param {Page.Context} context
 * @param {Page.Agent} path
 */
export function folders({ api, signal }, path) {
  const made = reading(() => api.getIfAllowed(`${path}/folders`), (found) => [
    element("p", { class: "hint" }, text("standing_folders_hint")),
    PLACES.map((place) => one(place, found?.items.find((each) => each.place === place)?.folder ?? null)),
    element("p", {}, link(`${path}/workspace`, text("standing_files"))),
  ], { signal });
  const put = async (place, folder) => {
    await api.put(/** @type {`/agents/${string}/folders/${string}`} */ (`${path}/folders/${place}`), { folder });
    await made.refresh();
  };

  function one(place, folder) {
    const input = element("input", { type: "text", id: `folder-${place}`, required: true, maxlength: 4_096, spellcheck: "false", autocomplete: "off" });
    return element("div", { class: "field", "data-place": place },
      element("h3", {}, text(`standing_place_${place}`)),
      element("p", { dir: "ltr" }, folder === null ? text(`standing_own_${place}`) : element("code", {}, foreign(folder))),
      folder === null ? null : action("standing_detach", () => put(place, null), { ask: "standing_detach_question", "aria-label": `${text("standing_detach")}: ${text(`standing_place_${place}`)}` }),
      element("details", {}, element("summary", {}, text(folder === null ? "standing_attach" : "standing_attach_other")),
        form([field(`standing_path_${place}`, input, "standing_path_hint")], "standing_attach_now", () => put(place, input.value.trim()), { class: "quiet" })));
  }
  return made;
}
