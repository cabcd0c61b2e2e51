/** Downloads: what the API answers to the key becomes a file of the browser. */

import { visibleLine } from "./elements.js";

const KEPT_MS = 60_000;

/**
 * Save the answer of a path under a name; the key stays in its header.
 * @param {Page.Api} api
 */
export async function download(api, path, name) {
  const answer = await api.file(path);
  save(await answer.blob(), name);
}

export function save(blob, name) {
  // As bytes of no type: a file of somebody else is never shown as a page of this origin.
  const address = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = visibleLine(name);
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}
