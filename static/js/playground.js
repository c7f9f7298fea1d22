/** While a run is at work its page looks for what is new. Without this the page is to be loaded again. */

import { localize } from "./page.js";

const PAUSE_MS = 600;
const status = document.getElementById("trace-status");

const running = () => document.getElementById("trace").hasAttribute("data-running");

async function refresh() {
  const response = await fetch(location.href).catch(() => null);
  if (response?.ok) show(new DOMParser().parseFromString(await response.text(), "text/html"));
  if (running()) setTimeout(refresh, PAUSE_MS);
}

function show(page) {
  const fresh = page.getElementById("trace");
  const present = document.getElementById("trace");
  if (fresh.textContent === present.textContent) return;
  // What the reader has opened stays open, and the focus where it is unless what has it goes.
  const open = [...present.querySelectorAll("details")].map((details) => details.open);
  fresh.querySelectorAll("details").forEach((details, place) => {
    if (place in open) details.open = open[place];
  });
  present.replaceWith(document.adoptNode(fresh));
  localize(fresh);
  if (!running()) status.textContent = fresh.querySelector(".facts").textContent.replace(/\s+/g, " ").trim();
}

if (running()) setTimeout(refresh, PAUSE_MS);
