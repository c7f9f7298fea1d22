/** Registering an agent: its manifest is read, and its handle looked up, as soon as typing stops. */

import "./fixie-manifest.js";
import { call } from "./session-api.js";
import { fill, gettext } from "./texts.js";

const PAUSE_MS = 400;
const form = document.getElementById("new-agent");
const address = form.elements.deployment_url;
const { owner, handle, name } = form.elements;
const said = document.getElementById("handle-said");
const manifest = document.querySelector("fixie-manifest");
const read = document.getElementById("address-said");

/** Calls `run` when nothing has happened for a moment. */
const settled = (run, timer = 0) => () => {
  clearTimeout(timer);
  timer = setTimeout(run, PAUSE_MS);
};

const lookNow = () => manifest.look(address.value.trim(), { owner: owner.value, handle: handle.value.trim() });
const look = settled(lookNow);
address.addEventListener("input", look);
manifest.addEventListener("said", ({ detail }) => (read.textContent = detail));
if (address.value) look();

let asking = null;

async function check() {
  asking?.abort();
  const wanted = handle.value.trim();
  if (!wanted) return tell("", false);
  asking = new AbortController();
  const query = new URLSearchParams({ owner: owner.value, handle: wanted });
  try {
    const { available, reason } = await call("GET", `/api/preview/name?${query}`, undefined, asking);
    const address = { name: `${owner.value}/${wanted}` };
    tell(available ? fill(gettext("%(name)s is free."), address) : reason, !available);
    if (available && manifest.refused) lookNow();
  } catch (error) {
    if (error.name !== "AbortError") tell(error.message, true);
  }
}

function tell(words, isBad) {
  said.textContent = words;
  said.classList.toggle("bad", isBad);
  handle.setAttribute("aria-invalid", String(isBad));
}

handle.addEventListener("input", settled(check));
owner.addEventListener("change", check);
let chosen = Boolean(handle.value);
handle.addEventListener("input", ({ isTrusted }) => {
  if (isTrusted) chosen = Boolean(handle.value);
});
// As long as nobody chooses another one, the handle is the name without spaces.
name.addEventListener("input", () => {
  if (chosen) return;
  const plain = name.value.normalize("NFD").replace(/[^\w -]/g, "");
  handle.value = plain.trim().replace(/[\s_]+/g, "-").toLowerCase().slice(0, 50);
  handle.dispatchEvent(new CustomEvent("input"));
});
