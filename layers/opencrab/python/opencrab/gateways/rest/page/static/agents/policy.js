/** What an agent may do without asking, in words. */

import { foreign, text } from "../lib/elements.js";

/** The name of a policy; a list of what may run stays one. */
export const policyName = (policy) => (Array.isArray(policy) ? foreign(policy.join(", ")) : text(`policy_${policy}`));
