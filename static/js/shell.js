/** The frame of chat pages: folds the list of sessions, and keeps that for the next page. */

const YEAR = 365 * 24 * 3600;
const WIDE = matchMedia("(width >= 56rem)");

const root = document.documentElement;
const sidebar = document.getElementById("sidebar");
const button = document.getElementById("fold-sidebar");

/** Shows or hides the list: a part of wide pages, a drawer of narrow ones. */
export function foldSidebar() {
  if (!WIDE.matches) {
    sidebar.togglePopover();
    return;
  }
  const closed = root.classList.toggle("sidebar-closed");
  button.setAttribute("aria-expanded", String(!closed));
  document.cookie = `sidebar=${closed ? "closed" : "open"}; path=/; max-age=${YEAR}; samesite=lax`;
  if (closed && sidebar.contains(document.activeElement)) button.focus();
}

button?.addEventListener("click", foldSidebar);

// A drawer that is open when the window grows would lie over its own place.
WIDE.addEventListener("change", () => sidebar?.matches(":popover-open") && sidebar.hidePopover());

// On the page that it leads to, the choice has been made.
sidebar?.addEventListener("click", ({ target }) => {
  if (target.closest("a[href]") && sidebar.matches(":popover-open")) sidebar.hidePopover();
});
