/** The page of conversations; it stays as it is while somebody looks at others. */

export default async function page({ chat, query, signal }) {
  const agent = query.get("agent");
  const opened = chat.showUntil(signal);
  if (agent !== null) await chat.choose(agent);
  await opened;
  return chat.element;
}
