/** New files: uploaded from this device, or begun empty. */

import { element, text } from "../lib/elements.js";
import { field, form } from "../lib/widgets.js";

const NEW = { "If-None-Match": "*" };

export const fileAddress = (path, name) => `${path}/workspace/${name.split("/").map(encodeURIComponent).join("/")}`;

/** @param {Page.Part} context */
export function upload({ api, path }, onWritten) {
  const chosen = element("input", { type: "file", multiple: true, required: true });
  const folder = element("input", { type: "text", autocomplete: "off", maxlength: 500 });
  const replaces = element("input", { type: "checkbox" });
  const name = element("input", { type: "text", required: true, autocomplete: "off", maxlength: 500 });
  const send = async () => {
    let last = "";
    for (const file of chosen.files) {
      last = [folder.value.trim().replace(/^\/+|\/+$/g, ""), file.name].filter(Boolean).join("/");
      await api.putFile(fileAddress(path, last), file, replaces.checked ? {} : NEW);
    }
    chosen.value = "";
    await onWritten(last);
  };
  const begin = async () => {
    const written = await api.putFile(fileAddress(path, name.value.trim()), "", NEW);
    name.value = "";
    await onWritten(written.path);
  };
  return element("details", { class: "card" }, element("summary", {}, text("workspace_add")),
    form([field("workspace_files", chosen), field("workspace_folder", folder, "workspace_folder_hint"),
      element("label", { class: "look" }, replaces, text("workspace_replaces"))], "workspace_upload", send),
    form([field("workspace_name", name, "workspace_name_hint")], "workspace_begin", begin, { class: "quiet" }));
}
