/** What the pages ask over REST. */

import { gettext } from "./texts.js";

/** The `limit` messages before the one numbered `before`, oldest first, and what is known of their runs. */
export async function earlierMessages(handle, before, limit) {
  const { items, runs = [] } = await call("GET", `/api/sessions/${handle}/messages?before=${before}&limit=${limit}`);
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

/** The embeds of a question, `{key: {id, …}}`, as the site takes them: `{key: {id}}`. */
export const idsOf = (embeds) => Object.fromEntries(Object.entries(embeds ?? {}).map(([key, { id }]) => [key, { id }]));

/** `POST` of JSON; `call` says what comes of it. */
export const post = (path, body = {}) => call("POST", path, body);

/**
 * Asks the site's REST API as the page's user; returns what it answers, null where that is nothing.
 *
 * Throws an Error whose `message` may be shown, with `code` and `details` as `docs/wire.md` lists them; `code` is
 * `unreachable` where no answer came. An aborted `signal` throws the browser's own AbortError.
 */
export async function call(method, path, body, { signal } = {}) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await reached(path, { method, headers, signal, body: body && JSON.stringify(body) });
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer;
  throw refusalOf(answer, gettext("That did not work. Try again."));
}

function refusalOf(answer, otherwise) {
  const { code = "internal", message = otherwise, details = {} } = answer?.error ?? {};
  return problem(code, message, details);
}

const reached = (path, options) =>
  fetch(path, options).catch((error) => {
    throw error.name === "AbortError"
      ? error
      : problem("unreachable", gettext("The site could not be reached. Try again."));
  });

const problem = (code, message, details = {}) => Object.assign(new Error(message), { code, details });

/** Of any form on the page: signed-in pages have at least the one to sign out. */
const csrfToken = () => document.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";

/**
 * Uploads a file and returns `{id, content_type, name, size}`. `onProgress` hears how much of it is there, from 0 to 1.
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
      else reject(refusalOf(request.response, gettext("The upload failed.")));
    };
    request.onerror = () => reject(new Error(gettext("The upload broke off.")));
    signal.onabort = () => request.abort();
    const form = new FormData();
    form.append("file", file);
    request.send(form);
  });
}
