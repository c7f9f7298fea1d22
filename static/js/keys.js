/** Keys by the names that are written on the reader's keyboard. */

import { gettext } from "./texts.js";

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

const NAMES = {
  Mod: () => (isMac ? "⌘" : gettext("Ctrl")),
  Shift: () => (isMac ? "⇧" : gettext("Shift")),
  Del: () => gettext("Del"),
};

/** `Mod` is what goes with a letter: Ctrl, or ⌘ on a Mac. */
export const keyName = (key) => NAMES[key]?.() ?? key;
