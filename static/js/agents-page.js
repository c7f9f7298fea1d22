/** The list of agents filters itself while its reader types. Without this it is a plain form. */

import { localize } from "./page.js";

const PAUSE_MS = 250;
const form = document.getElementById("agent-filters");
const status = document.getElementById("agents-status");
let pending = 0;
let asking = null;

const later = () => {
  clearTimeout(pending);
  pending = setTimeout(search, PAUSE_MS);
};

form.addEventListener("input", ({ target }) => (target.name === "q" ? later() : search()));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});

async function search() {
  clearTimeout(pending);
  asking?.abort();
  asking = new AbortController();
  const filled = [...new FormData(form)].filter(([, value]) => value);
  const address = `${form.getAttribute("action")}${filled.length ? `?${new URLSearchParams(filled)}` : ""}`;
  try {
    const response = await fetch(address, { signal: asking.signal });
    if (!response.ok) throw new Error(response.statusText);
    show(new DOMParser().parseFromString(await response.text(), "text/html"), address);
  } catch (error) {
    if (error.name !== "AbortError") location.assign(address);
  }
}

function show(page, address) {
  const found = page.getElementById("agents-found");
  const said = found.querySelector("[data-said]").textContent;
  document.getElementById("agents-found").replaceWith(document.adoptNode(found));
  localize(found);
  history.replaceState(null, "", address);
  if (status.textContent !== said) status.textContent = said;
}
