/** Which sessions are conversations with an agent, and what they are called. */

import { time, visibleText } from "../lib/elements.js";

/** The conversations of a key's holder with an agent, newest first; a read key has those it may see. */
export function conversationsWith(agentId, sessions, who) {
  const isListed = (session) => {
    const agents = session.participants.map((each) => each.agent_id);
    if (!agents.includes(agentId) || session.goal !== null) return false;
    const isMine = [session.created_by, ...session.members].includes(who.principal_id);
    return (isMine && session.guild_id === null) || who.scope === "read";
  };
  return sessions.filter(isListed).sort((one, other) => other.updated_at.localeCompare(one.updated_at));
}

/** The title of a conversation: its name, its theme or its first message, and when it changed. */
export function titleOf(session) {
  const { title } = session;
  const at = time(session.updated_at).textContent;
  return title ? `${visibleText(title).slice(0, 60)} · ${at}` : at;
}
