// The admin's dashboard: fetches its numbers anew every few seconds, unless it is paused or nobody sees it.

const SECONDS = 5;
// A database that is this slow is an incident, too.
const PATIENCE = 15;
const KEPT = "details, summary, a, [tabindex]";

const page = document.querySelector("#dashboard");
const numbers = page.querySelector("#dashboard-numbers");
const state = page.querySelector("#dashboard-state");
const status = page.querySelector("#dashboard-status");
const pause = page.querySelector("#dashboard-pause");
const ranges = [...page.querySelectorAll("[data-range]")];

let chosen = page.querySelector("[data-range][aria-current]").dataset.range;
let timer = 0;
let asked = 0;

const paused = () => pause.getAttribute("aria-pressed") === "true";

/** Puts the new numbers in place of the old; what was open, scrolled and focused stays so. */
function show(html) {
  const before = [...numbers.querySelectorAll(KEPT)];
  const open = before.map((element) => element.open);
  const scrolled = before.map((element) => element.scrollTop);
  const focused = before.indexOf(document.activeElement);
  numbers.innerHTML = html; // our own template's, which escapes what others wrote
  numbers.querySelectorAll(KEPT).forEach((element, index) => {
    if (open[index]) element.open = true;
    if (scrolled[index]) element.scrollTop = scrolled[index];
    if (index === focused) element.focus({ preventScroll: true });
  });
  const moment = numbers.querySelector("[data-updated]").dataset.updated;
  const time = Object.assign(document.createElement("time"), { dateTime: moment });
  time.textContent = moment.slice(11, 19);
  tell(state.dataset.updated, " ", time, " UTC");
  if (status.textContent) status.textContent = "";
}

function tell(...parts) {
  state.replaceChildren(...parts);
}

/** Says it where it is seen, and once to a screen reader. */
function warn(text) {
  tell(text);
  if (status.textContent !== text) status.textContent = text;
}

async function update() {
  clearTimeout(timer);
  const number = ++asked;
  try {
    const answer = await fetch(`${page.dataset.address}?range=${chosen}`, {
      redirect: "manual",
      signal: AbortSignal.timeout(PATIENCE * 1000),
    });
    const text = answer.ok ? await answer.text() : "";
    if (number !== asked) return;
    if (answer.ok) show(text);
    else warn(answer.type === "opaqueredirect" ? state.dataset.signedOut : state.dataset.failed);
  } catch {
    if (number === asked) warn(state.dataset.failed);
  }
  next();
}

function next() {
  clearTimeout(timer);
  if (!paused() && !document.hidden) timer = setTimeout(update, SECONDS * 1000);
}

for (const link of ranges) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    ({ range: chosen } = link.dataset);
    for (const other of ranges) other.toggleAttribute("aria-current", false);
    link.setAttribute("aria-current", "true");
    history.replaceState(null, "", link.href);
    update();
  });
}

pause.hidden = false;
pause.addEventListener("click", () => {
  pause.setAttribute("aria-pressed", String(!paused()));
  if (paused()) {
    asked += 1;
    clearTimeout(timer);
    tell(state.dataset.paused, " ", state.querySelector("time") ?? "");
  } else update();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (!paused()) update();
});
next();
