// The admin's forms: a button pressed twice sends its form once. What comes later is meant, such as a file taken again.

const SECONDS = 2;
const sent = new WeakSet();

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (sent.has(form)) event.preventDefault();
  sent.add(form);
  setTimeout(() => sent.delete(form), SECONDS * 1000);
});
