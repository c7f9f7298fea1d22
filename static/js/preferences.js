/** The account menu: colours that change at once, and what is left of today's queries. */

import { fill, language, ngettext } from "./texts.js";

for (const form of document.querySelectorAll("form[data-theme-form]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { value } = event.submitter;
    show(value);
    const body = new FormData(form);
    body.set("theme", value);
    // Where this fails the choice lasts as long as the page.
    fetch(form.action, { method: "POST", body, redirect: "manual" }).catch(() => {});
  });
}

function show(theme) {
  document.documentElement.dataset.theme = theme;
  for (const button of document.querySelectorAll("form[data-theme-form] button")) {
    button.setAttribute("aria-pressed", String(button.value === theme));
  }
}

const menu = document.getElementById("account-menu");
menu?.addEventListener("toggle", async () => {
  if (!menu.open) return;
  const response = await fetch("/api/users/me/quota").catch(() => null);
  if (response?.ok) document.getElementById("menu-quota").textContent = words(await response.json());
});

function words({ queries, credits }) {
  const n = queries.remaining + credits;
  return fill(ngettext("%(n)s query left today", "%(n)s queries left today", n), { n: n.toLocaleString(language) });
}
