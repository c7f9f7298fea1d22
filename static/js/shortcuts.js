/** The keys that work on every page of who is signed in, and the sheet that names them. */

import { isField } from "./fields.js";
import { isMac, keyName } from "./keys.js";
import { foldSidebar } from "./shell.js";
import { gettext } from "./texts.js";

/** Each with what it does, where this page's keys do it; the others are the chat's own. */
const SHEET = () => [
  [gettext("Everywhere"), [
    ["Mod K", gettext("Search sessions, go anywhere")],
    ["Mod Shift O", gettext("New chat")],
    ["Mod B", gettext("Show or hide the list of sessions")],
    ["?", gettext("Show these shortcuts")],
  ]],
  [gettext("In a chat"), [
    ["Enter", gettext("Send")],
    ["Shift Enter", gettext("Start a new line")],
    ["Mod Enter", gettext("Send, too")],
    ["@", gettext("Name an agent")],
    ["Esc", gettext("Stop the answer")],
    ["↑", gettext("Edit the last question, where nothing is written")],
    ["Mod Z", gettext("Undo a deletion, right after it")],
  ]],
  [gettext("In the list of sessions"), [
    ["↑ ↓", gettext("Go from one to the next")],
    ["F2", gettext("Rename")],
    ["Del", gettext("Delete")],
  ]],
];

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented) return;
  const action = actionOf(event);
  if (!action) return;
  event.preventDefault();
  action();
});

function actionOf(event) {
  const mod = isMac ? event.metaKey : event.ctrlKey;
  const key = event.key.toLowerCase();
  if (mod && !event.altKey && !event.shiftKey && key === "k") return openSwitcher;
  if (document.querySelector("dialog[open]")) return null;
  if (mod && event.shiftKey && key === "o") return () => location.assign("/");
  if (mod && !event.shiftKey && key === "b" && document.getElementById("sidebar")) return foldSidebar;
  if (key === "?" && !mod && !event.altKey && !isField(event.target)) return openSheet;
  return null;
}

document.addEventListener("click", ({ target }) => {
  const what = target.closest?.("[data-open]")?.dataset.open;
  if (what === "switcher") openSwitcher();
  else if (what === "shortcuts") openSheet();
});

/** Loads what is rarely needed when it is needed. */
async function openSwitcher() {
  const { toggleSwitcher } = await import("./fixie-switcher.js");
  toggleSwitcher();
}

function openSheet() {
  const dialog = document.createElement("dialog");
  dialog.className = "dialog sheet";
  dialog.setAttribute("aria-labelledby", "sheet-title");
  dialog.append(element("h2", { id: "sheet-title" }, gettext("Keyboard shortcuts")));
  for (const [name, keys] of SHEET()) {
    const list = element("dl", {});
    for (const [combination, does] of keys) list.append(named(combination, does));
    dialog.append(element("h3", {}, name), list);
  }
  const close = element("button", { type: "button" }, gettext("Close"));
  close.addEventListener("click", () => dialog.close());
  dialog.append(close);
  dialog.addEventListener("close", () => dialog.remove());
  // A click beside it, as in the drawer and in menus.
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.tabIndex = -1;
  dialog.showModal();
  // It is read from its beginning: the button is at its end, which a small window does not show.
  dialog.focus();
  dialog.scrollTop = 0;
}

function named(combination, does) {
  const keys = combination.split(" ").map((key) => element("kbd", {}, keyName(key)));
  const row = element("div", {});
  const term = element("dt", {});
  term.append(...keys);
  row.append(term, element("dd", {}, does));
  return row;
}

function element(name, properties, text = "") {
  const made = Object.assign(document.createElement(name), properties);
  made.textContent = text;
  return made;
}
