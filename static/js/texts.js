/** The page's language: `gettext` and the like, as Django's JavaScript catalogue defines them (`/texts/LANGUAGE.js`). */

const plural = (one, many, count) => (count === 1 ? one : many);
const filled = (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => String(values[name]));

/** Without a catalogue, as in tests of single modules, texts are what they are. */
const { gettext, ngettext, pgettext } = globalThis.django ?? {
  gettext: (text) => text,
  ngettext: plural,
  pgettext: (_, text) => text,
};

/** `fill(gettext("Remove %(name)s"), { name })`. */
export const fill = filled;
export { gettext, ngettext, pgettext };

export const language = document.documentElement.lang || "en";
