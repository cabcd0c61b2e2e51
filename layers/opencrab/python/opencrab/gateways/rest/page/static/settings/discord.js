/** Discord: what its setup lacks, the invitation, and the agents that are there. */

import { element, foreign, text } from "../lib/elements.js";
import { copyable } from "../lib/parts.js";
import { card, reading, table } from "../lib/widgets.js";
import { frame } from "./frame.js";
import { checkList } from "./page.js";

/** @param {Page.Context} context */
export default async function page({ api, agentName, signal }) {
  const read = () => Promise.all([api.get("/discord"), api.getIfAllowed("/discord/invite"), api.get("/discord/presences")]);
  const part = reading(read, ([{ checks }, invitation, { items }]) => [
    card("part_discord_checks", checkList(checks)),
    invitation === null ? null : card("part_invite",
      element("p", { class: "hint" }, text("invite_hint")),
      element("p", {}, text("invite_server"), " ", copyable(invitation.server)),
      element("p", {}, text("invite_user"), " ", copyable(invitation.user))),
    card("part_presences", items.length === 0 ? element("p", { class: "empty" }, text("no_presences"))
      : table(["presence_agent", "presence_spots", "presence_token"], items.map((each) => presence(each, agentName)), { caption: "part_presences" })),
  ], { signal });
  return frame("/settings/discord", part);
}

function presence({ agent_id: id, spots, token_secret: token }, agentName) {
  const channels = spots.map((each) => element("li", {}, element("code", {}, foreign(each.channel_id)), " ",
    text(each.writes ? "spot_writes" : "spot_reads"), each.mentions_only ? ` · ${text("spot_mentions")}` : ""));
  return [
    foreign(agentName(id)),
    channels.length ? element("ul", {}, channels) : text("spots_none"),
    text(token ? "token_own" : "token_shared"),
  ];
}
