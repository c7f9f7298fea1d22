/** What every page does beside its forms and links: dialogs that ask, copying, times in the reader's own zone. */

import { gettext, language } from "./texts.js";

/** Shows the times below `root` in the reader's own zone. */
export function localize(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const moment = new Date(time.dateTime);
    time.textContent = moment.toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
  }
}
localize(document);

// For what the server writes by day, before a script has come.
document.cookie = `timezone=${Intl.DateTimeFormat().resolvedOptions().timeZone}; path=/; max-age=31536000; samesite=lax`;

if (document.documentElement.dataset.user) import("./shortcuts.js");

// A part whose script does not come would look as if it were about to. This module has to stand before all parts.
const onMissing = ({ target }) => {
  if (target.localName !== "script" || document.querySelector(".missing-part")) return;
  const notice = document.createElement("p");
  const again = document.createElement("a");
  again.href = location.pathname + location.search;
  again.textContent = gettext("Load it again");
  notice.className = "notice error missing-part";
  notice.setAttribute("role", "alert");
  notice.append(gettext("A part of this page did not load."), " ", again);
  document.querySelector("main").prepend(notice);
};
document.addEventListener("error", onMissing, { capture: true });

for (const form of document.querySelectorAll("form[data-submit-on-enter]")) {
  form.querySelector("textarea").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

// A form sent twice would begin two sessions. Forms may come later than this script.
document.addEventListener("submit", (event) => {
  const form = event.target;
  // After one that is answered by a file, the page stays.
  if (event.defaultPrevented || form.method !== "post" || "download" in form.dataset) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
// What somebody was writing is nobody else's who uses this browser.
document.addEventListener("submit", ({ target }) => {
  if (!target.getAttribute("action")?.endsWith("/logout/")) return;
  for (const storage of [localStorage, sessionStorage]) {
    for (const key of Object.keys(storage)) if (key.startsWith("fixie:")) storage.removeItem(key);
  }
});

addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

const dialog = document.getElementById("delete-dialog");
for (const link of document.querySelectorAll("a[data-delete]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.querySelector("form").action = link.href;
    dialog.querySelector(".dialog-name").textContent = `“${link.dataset.delete}”`;
    dialog.showModal();
  });
}
dialog?.querySelector("[data-close]").addEventListener("click", () => dialog.close());

for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  const said = document.createElement("span");
  said.setAttribute("role", "status");
  button.after(said);
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent);
      said.textContent = gettext("Copied.");
    } catch {
      // No clipboard without https, or the reader does not allow it.
      getSelection().selectAllChildren(source);
      said.textContent = gettext("Selected: copy it with Ctrl+C.");
    }
  });
}

const menu = document.querySelector("details.menu");
document.addEventListener("click", ({ target }) => {
  if (menu?.open && !menu.contains(target)) menu.open = false;
});
menu?.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
