/** Files that are dragged over the page, or pasted. */

import { gettext } from "./texts.js";

const FOLDER = () => gettext("It is a folder. Open it, and attach its files.");

/** Takes files that are dropped anywhere on the page; while some hang over it, words say so. */
export class DropZone {
  #listeners = new AbortController();
  #words = null;
  #onFiles;

  /** `onFiles(files, refused)`: the files, and what is no file as `[{name, problem}]`. */
  constructor(onFiles) {
    this.#onFiles = onFiles;
    const { signal } = this.#listeners;
    document.addEventListener("dragenter", (event) => hasFiles(event) && this.#show(), { signal });
    document.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault(), { signal });
    document.addEventListener("dragleave", ({ relatedTarget }) => relatedTarget ?? this.#hide(), { signal });
    document.addEventListener("drop", (event) => hasFiles(event) && this.#onDrop(event), { signal });
  }

  stop() {
    this.#listeners.abort();
    this.#hide();
  }

  #show() {
    if (this.#words || document.querySelector("dialog[open]")) return;
    this.#words = document.createElement("p");
    this.#words.className = "drop-zone";
    this.#words.textContent = gettext("Drop files to attach them");
    document.body.append(this.#words);
  }

  #hide() {
    this.#words?.remove();
    this.#words = null;
  }

  #onDrop(event) {
    event.preventDefault();
    const wanted = this.#words !== null;
    this.#hide();
    if (wanted) this.#onFiles(...sorted([...event.dataTransfer.items].filter(({ kind }) => kind === "file")));
  }
}

const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files");

function sorted(items) {
  const folders = items.map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry?.isDirectory);
  const files = items.filter((item) => !item.webkitGetAsEntry?.()?.isDirectory).map((item) => item.getAsFile());
  return [files.filter(Boolean), folders.map(({ name }) => ({ name, problem: FOLDER() }))];
}

/** The files of a clipboard; none where it is a text that a program offers as a picture, too. */
export function pastedFiles({ types, files }) {
  const isText = types.includes("text/rtf") || (types.includes("text/plain") && types.includes("text/html"));
  return isText ? [] : [...files];
}
