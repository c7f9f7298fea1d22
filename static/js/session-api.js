/** What the chat asks over REST. */

/** The `limit` messages before the one numbered `before`, oldest first, and what is known of their runs. */
export async function earlierMessages(handle, before, limit) {
  const response = await fetch(`/api/sessions/${handle}/messages?before=${before}&limit=${limit}`);
  if (!response.ok) throw new Error("The earlier messages could not be loaded. Try again.");
  const { items, runs = [] } = await response.json();
  return { messages: items, runs };
}

/** Other agents for `text`, as the Router ranks them: `[{agent, score, matched}]`. */
export async function candidatesFor(text) {
  const { candidates } = await post("/api/route", { text });
  return candidates.map(({ agent, score, matched_query: matched }) => ({ agent, score, matched }));
}

/**
 * Asks the query of a run again, of `agent`, which the Router remembers. The answer comes over the socket.
 *
 * However often it is sent with the same `clientId`, it is asked once.
 */
export const askAgain = (run, agent, clientId) => post(`/api/runs/${run}/ask`, { agent, client_id: clientId });

async function post(path, body) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": csrfToken() };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }).catch(() => {
    throw new Error("The site could not be reached. Try again.");
  });
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Error(answer?.error?.message ?? "That did not work. Try again.");
  return answer;
}

const csrfToken = () => document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";

/**
 * Uploads a file and returns `{id, content_type, size}`. `onProgress` hears how much of it is there, from 0 to 1.
 *
 * Not `fetch`, which does not tell how far an upload is.
 */
export function uploadEmbed(file, { signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/embeds");
    request.setRequestHeader("X-CSRFToken", csrfToken());
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => onProgress(total ? loaded / total : 0);
    request.onload = () => {
      if (request.status < 300) resolve(request.response);
      else reject(new Error(request.response?.error?.message ?? "The upload failed."));
    };
    request.onerror = () => reject(new Error("The upload broke off."));
    signal.onabort = () => request.abort();
    const form = new FormData();
    form.append("file", file);
    request.send(form);
  });
}
