/** What the chat asks over REST. */

/** The `limit` messages before the one numbered `before`, oldest first, and what is known of their runs. */
export async function earlierMessages(handle, before, limit) {
  const response = await fetch(`/api/sessions/${handle}/messages?before=${before}&limit=${limit}`);
  if (!response.ok) throw new Error("The earlier messages could not be loaded. Try again.");
  const { items, runs = [] } = await response.json();
  return { messages: items, runs };
}
