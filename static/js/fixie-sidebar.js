/** The list of sessions: pinned ones, then by day. Follows what happens to them here and in other tabs. */

import "./fixie-session-menu.js";
import { LightElement } from "./light-element.js";
import { call, post } from "./session-api.js";
import { listen, tell } from "./session-news.js";
import { byDays } from "./sessions-by-day.js";
import { fill, gettext } from "./texts.js";
import { toast } from "./toast.js";
import { html, nothing, repeat } from "../vendor/lit.js";

const RECENT = "/api/sessions/recent";

/** `data` names the JSON script that `sessions_app.sidebar.page` delivers with the page: nothing is asked for at first. */
export class FixieSidebar extends LightElement {
  static properties = {
    data: {},
    rows: { state: true },
    next: { state: true },
    archived: { state: true },
    renaming: { state: true },
    loading: { state: true },
    problem: { state: true },
  };

  #bottom = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && this.#more());

  connectedCallback() {
    super.connectedCallback();
    const { pinned, items, next, archived, current } = JSON.parse(document.getElementById(this.data).textContent);
    Object.assign(this, { rows: [...pinned, ...items], next, archived, current });
    this.unlisten = listen((news) => this.#onNews(news));
    this.abort = new AbortController();
    const { signal } = this.abort;
    // A page that the browser kept as it was, which other pages have gone past.
    addEventListener("pageshow", ({ persisted }) => persisted && this.show(this.archived), { signal });
    document.querySelector("[data-open=archived]")?.addEventListener("click", (event) => this.#onArchived(event), { signal });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.unlisten();
    this.abort.abort();
    this.#bottom.disconnect();
  }

  render() {
    const { archived } = this;
    const pinned = archived ? [] : this.rows.filter((row) => row.pinned);
    const rest = archived ? this.rows : this.rows.filter((row) => !row.pinned);
    const name = archived ? gettext("Archived sessions") : gettext("Sessions");
    return html`<nav class="session-list" aria-label=${name} tabindex="-1" @keydown=${this.#onKeyDown}>
        ${archived ? this.#head(name) : nothing}
        ${pinned.length ? this.#group(gettext("Pinned"), pinned) : nothing}
        ${byDays(rest).map(({ name: day, rows }) => this.#group(day, rows))}
        ${this.rows.length ? nothing : html`<p class="none">${archived ? NONE_ARCHIVED() : NONE()}</p>`}
        ${this.problem ? html`<p class="none" role="alert">${this.problem}</p>` : nothing}
        ${this.next
          ? html`<button type="button" class="small older" aria-disabled=${Boolean(this.loading)} @click=${this.#more}>
              ${this.loading ? gettext("Loading…") : gettext("Show older")}
            </button>`
          : nothing}
      </nav>
      <fixie-session-menu
        @rename=${({ detail: row }) => this.#rename(row)}
        @change=${({ detail: { row, changes } }) => this.#change(row, changes)}
        @delete=${({ detail: row }) => this.#delete(row)}
      ></fixie-session-menu>`;
  }

  #head(name) {
    return html`<div class="list-head">
      <button type="button" class="small quiet" @click=${() => this.#turnTo(false)}>← ${gettext("All sessions")}</button>
      <h2>${name}</h2>
    </div>`;
  }

  #group(name, rows) {
    return html`${this.archived ? html`<h3>${name}</h3>` : html`<h2>${name}</h2>`}
      <ul>
        ${repeat(rows, ({ handle }) => handle, (row) => html`<li>${this.renaming === row.handle ? this.#field(row) : this.#row(row)}</li>`)}
      </ul>`;
  }

  #row(row) {
    const { handle, title, busy } = row;
    return html`<a
        href="/sessions/${handle}"
        dir="auto"
        data-handle=${handle}
        title=${title}
        aria-current=${handle === this.current ? "page" : nothing}
        aria-keyshortcuts="F2"
        >${title}</a
      >${busy ? html`<span class="at-work" role="img" aria-label=${gettext("Being answered")}></span>` : nothing}<button
        type="button"
        class="more-button"
        aria-label=${fill(gettext("What to do with “%(title)s”"), { title })}
        aria-haspopup="menu"
        @click=${({ currentTarget }) => this.querySelector("fixie-session-menu").open(row, currentTarget)}
      >
        ⋯
      </button>`;
  }

  #field(row) {
    return html`<input
      class="rename"
      aria-label=${gettext("New name")}
      maxlength="200"
      dir="auto"
      .value=${row.title}
      @keydown=${(event) => this.#onFieldKey(event, row)}
      @blur=${({ target }) => this.#named(row, target.value)}
    />`;
  }

  updated(changed) {
    this.#bottom.disconnect();
    const older = this.querySelector(".older");
    if (older && !this.problem) this.#bottom.observe(older);
    if (changed.has("renaming") && this.renaming) this.querySelector(".rename")?.select();
  }

  /** Lists the archived sessions, or all others. */
  async show(archived) {
    const page = await this.#load({ archived });
    if (page) Object.assign(this, { archived, rows: [...page.pinned, ...page.items], next: page.next });
  }

  async #turnTo(archived) {
    await this.show(archived);
    await this.updateComplete;
    this.querySelector(".session-list").focus();
  }

  #onArchived(event) {
    event.preventDefault();
    this.#turnTo(!this.archived);
  }

  async #more() {
    if (this.loading || !this.next) return;
    const page = await this.#load({ archived: this.archived, after: this.next });
    if (!page) return;
    const known = new Set(this.rows.map(({ handle }) => handle));
    this.rows = [...this.rows, ...page.items.filter(({ handle }) => !known.has(handle))];
    this.next = page.next;
  }

  async #load(query) {
    this.loading = true;
    this.problem = undefined;
    try {
      return await call("GET", `${RECENT}?${new URLSearchParams(query)}`);
    } catch (error) {
      this.problem = error.message;
      return null;
    } finally {
      this.loading = false;
    }
  }

  #onKeyDown(event) {
    const handle = event.target.dataset?.handle;
    const row = this.rows.find((one) => one.handle === handle);
    if (row && event.key === "F2") this.#rename(row);
    else if (row && event.key === "Delete") this.#delete(row);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") this.#step(event);
    else return;
    event.preventDefault();
  }

  #step({ key, target }) {
    const links = [...this.querySelectorAll("a[data-handle]")];
    const from = links.indexOf(target.closest("li")?.querySelector("a") ?? target);
    links[from + (key === "ArrowDown" ? 1 : -1)]?.focus();
  }

  #rename({ handle }) {
    this.renaming = handle;
  }

  #onFieldKey(event, row) {
    event.stopPropagation();
    if (event.isComposing) return;
    if (event.key === "Enter") this.#named(row, event.target.value, { focus: true });
    else if (event.key === "Escape") this.#named(row, row.title, { focus: true });
  }

  async #named(row, name, { focus = false } = {}) {
    if (this.renaming !== row.handle) return;
    this.renaming = undefined;
    await this.updateComplete;
    if (focus) this.#focus(row.handle);
    if (name.trim() !== row.title) await this.#change(row, { name: name.trim() });
  }

  async #change(row, changes) {
    const neighbour = "archived" in changes ? this.#neighbourOf(row.handle) : row.handle;
    try {
      tell(await call("PATCH", `/api/sessions/${row.handle}`, changes));
    } catch (error) {
      toast(error.message);
      return;
    }
    await this.updateComplete;
    if ("name" in changes) return;
    this.#focus(neighbour);
    if (!("archived" in changes)) return;
    const text = changes.archived ? gettext("Archived “%(title)s”.") : gettext("“%(title)s” is no longer archived.");
    const undo = () => this.#change(row, { archived: !changes.archived });
    toast(fill(text, row), { action: { label: gettext("Undo"), run: undo } });
  }

  async #delete(row) {
    // Its own page leaves: a form, so that the next one says what happened.
    if (row.handle === this.current) {
      document.getElementById("delete-session").requestSubmit();
      return;
    }
    const neighbour = this.#neighbourOf(row.handle);
    try {
      await post(`/api/sessions/${row.handle}/delete`);
    } catch (error) {
      toast(error.message);
      return;
    }
    tell({ handle: row.handle, gone: true });
    await this.updateComplete;
    this.#focus(neighbour);
    const action = { label: gettext("Undo"), run: () => this.#restore(row.handle) };
    toast(fill(gettext("Deleted “%(title)s”."), row), { action });
  }

  async #restore(handle) {
    try {
      tell({ ...(await post(`/api/sessions/${handle}/restore`)), back: true });
    } catch (error) {
      toast(error.message);
      return;
    }
    await this.updateComplete;
    this.#focus(handle);
  }

  async #readNewest() {
    const page = await call("GET", `${RECENT}?limit=1`).catch(() => null);
    for (const row of [...(page?.pinned ?? []), ...(page?.items ?? [])]) tell(row);
  }

  #neighbourOf(handle) {
    const handles = [...this.querySelectorAll("a[data-handle]")].map(({ dataset }) => dataset.handle);
    const place = handles.indexOf(handle);
    return handles[place + 1] ?? handles[place - 1];
  }

  #focus(handle) {
    const link = [...this.querySelectorAll("a[data-handle]")].find(({ dataset }) => dataset.handle === handle);
    (link ?? this.querySelector(".session-list")).focus();
  }

  #onNews({ handle, gone, ...news }) {
    if (gone) {
      this.rows = this.rows.filter((row) => row.handle !== handle);
      return;
    }
    const known = this.rows.find((row) => row.handle === handle);
    // Its first question gives it a title, and one that was not asked for long comes from far below.
    if (news.busy && !news.title && (!known || known.title === handle)) this.#readNewest();
    if (!known && !news.created) return;
    const row = { ...known, ...news, handle };
    const others = this.rows.filter((one) => one.handle !== handle);
    // What is not in this list any more, or lies beyond what has been loaded of it.
    const last = others.at(-1);
    const beyond = this.next && !row.pinned && last && new Date(row.active) < new Date(last.active);
    this.rows = row.archived === this.archived && !beyond ? placed(others, row) : others;
  }
}

const NONE = () => gettext("Your conversations will be kept here.");
const NONE_ARCHIVED = () => gettext("Nothing is archived.");

const placed = (rows, row) =>
  [...rows, row].toSorted((one, other) => new Date(other.active) - new Date(one.active));

customElements.define("fixie-sidebar", FixieSidebar);
