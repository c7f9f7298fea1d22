/** What every page does beside its forms and links: dialogs that ask, copying, times in the reader's own zone. */

for (const time of document.querySelectorAll("time[data-local]")) {
  const moment = new Date(time.dateTime);
  time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

for (const form of document.querySelectorAll("form[data-submit-on-enter]")) {
  form.querySelector("textarea").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

// A form sent twice would begin two sessions.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
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
      said.textContent = "Copied.";
    } catch {
      // No clipboard without https, or the reader does not allow it.
      getSelection().selectAllChildren(source);
      said.textContent = "Selected: copy it with Ctrl+C.";
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
