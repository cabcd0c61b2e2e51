/** The page of what waits for a decision. */

export default async function page({ approvals }) {
  await approvals.refresh();
  return approvals.element;
}
