/** The page of conversations; it stays as it is while somebody looks at others. */

export default async function page({ chat, query }) {
  const agent = query.get("agent");
  if (agent !== null) await chat.choose(agent);
  return chat.element;
}
