/** Pictures of other hosts: loading one tells that host who reads, so it is loaded for who asks for it. */

import { fill, gettext } from "./texts.js";

/** This site's own, which it serves without asking what else its address might do. */
const OWN = /^\/(?:attachment|static)\//;

/** Addresses that the reader has asked for; they are drawn at once from then on. */
const asked = new Set();

export function ownPicture(address) {
  const { origin, pathname } = new URL(address, location.href);
  return (origin === location.origin && OWN.test(pathname)) || asked.has(address);
}

/** What stands in the place of a picture of another host. `show` takes its button. */
export function requestOf(image) {
  const request = document.createElement("span");
  request.className = "foreign-picture";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small show-picture";
  button.textContent = fill(gettext("Show picture from %(host)s"), { host: new URL(image.src).host });
  const link = document.createElement("a");
  Object.assign(link, { href: image.src, target: "_blank", rel: "noopener noreferrer nofollow" });
  link.textContent = image.alt || gettext("Open it in a new tab");
  request.append(button, " ", link);
  return request;
}

export function show(button) {
  const request = button.closest(".foreign-picture");
  const link = request.querySelector("a");
  asked.add(link.href);
  const image = document.createElement("img");
  image.referrerPolicy = "no-referrer";
  Object.assign(image, { alt: link.textContent, src: link.href, tabIndex: -1 });
  // Where it cannot be had, there is its link again.
  image.addEventListener("error", () => image.replaceWith(link), { once: true });
  request.replaceWith(image);
  image.focus();
}
