/** Terms with values that are read again and again. */

import { element } from "../lib/elements.js";

/** Show `[label, value]` rows in a list; what has not changed stays, and with it a selection. */
export function showFacts(list, rows) {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  const made = shown.flatMap(([label, value]) => [element("dt", {}, label), element("dd", {}, value)]);
  const isSame = made.length === list.children.length && made.every((each, index) => each.isEqualNode(list.children[index]));
  if (!isSame) list.replaceChildren(...made);
}
