/** Links to attachments expire: fresh ones of a whole session, asked for once however many pictures need one. */

import { call } from "./session-api.js";

const AGAIN_MS = 60_000;
/** By session: `{asked, uris}`, when it was asked and a promise of `{key: uri}`. */
const known = new Map();

/** A link to the embed `key` that is not `old`, or null where there is none (any more). */
export async function freshUri(session, key, old) {
  if (!(known.get(session)?.asked > Date.now() - AGAIN_MS)) {
    known.set(session, { asked: Date.now(), uris: linksOf(session) });
  }
  const uri = (await known.get(session).uris)[key];
  return uri && uri !== old ? uri : null;
}

async function linksOf(session) {
  try {
    const { items } = await call("GET", `/api/sessions/${session}/embeds`);
    return Object.fromEntries(items.map(({ key, url }) => [key, url]));
  } catch {
    return {};
  }
}
