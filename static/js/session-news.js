/**
 * What happens to the reader's sessions, told to all parts of this page and to their other tabs.
 *
 * News are `{handle, …}` with what is new of `title`, `name`, `pinned`, `archived`, `active`, `busy`; `{handle, gone:
 * true}` of one that was deleted; `{handle, back: true}` of one that was restored.
 */

/** Not the news of somebody who was signed in here before. */
const channel = new BroadcastChannel(`fixie:sessions:${document.documentElement.dataset.user ?? ""}`);
const news = new EventTarget();

export function tell(detail) {
  publish(detail);
  channel.postMessage(detail);
}

/** Calls `listener` with news of this page and of other tabs; returns what ends that. */
export function listen(listener) {
  const onNews = ({ detail }) => listener(detail);
  news.addEventListener("news", onNews);
  return () => news.removeEventListener("news", onNews);
}

const publish = (detail) => news.dispatchEvent(new CustomEvent("news", { detail }));

channel.onmessage = ({ data }) => publish(data);
