/** Sign-in links: `#sign-in=CODE` is taken out of the address and exchanged for a key, once. */

import { Problem } from "./api.js";
import { text } from "./elements.js";

const PREFIX = "#sign-in=";

export const isSignInLink = () => location.hash.startsWith(PREFIX);

/** The code of a link, which is then in no address and no history any more; null without one. */
export function takeCode() {
  if (!isSignInLink()) return null;
  const code = location.hash.slice(PREFIX.length);
  history.replaceState(null, "", location.pathname + location.search);
  return code;
}

/** The key that a code stands for. */
export async function keyOfCode(code) {
  const answer = await fetch("/api/sign-in", {
    method: "POST", headers: { Accept: "application/json", "Content-Type": "application/json" },
    body: JSON.stringify({ code }), credentials: "omit", cache: "no-store", redirect: "error",
  });
  const found = await answer.json().catch(() => ({}));
  if (answer.ok) return found.key;
  if (answer.status === 403) throw new Problem(answer.status, found);
  throw Object.assign(new Problem(answer.status, { detail: text("link_refused") }), { cure: text("link_refused_cure") });
}
