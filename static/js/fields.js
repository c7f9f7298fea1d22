/** Whether keys pressed here write something. */
export const isField = (target) => target.closest?.("input, textarea, select, [contenteditable]") != null;
