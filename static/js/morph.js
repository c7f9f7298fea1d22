/** Makes drawn nodes into others with the least change, so that what a reader has selected, scrolled or focused stays. */

/** Changes the children of `parent` from `first` on (an index) into `nodes`. */
export function morphChildren(parent, nodes, first = 0) {
  const old = [...parent.childNodes].slice(first);
  nodes.forEach((node, index) => {
    if (old[index] === undefined) parent.append(node);
    else morph(old[index], node);
  });
  old.slice(nodes.length).forEach((node) => node.remove());
}

function morph(old, node) {
  if (old.isEqualNode(node) || isSameEmbed(old, node)) return;
  if (old.nodeName !== node.nodeName || old.matches?.("fixie-embed")) {
    old.replaceWith(node);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.data = node.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!node.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of node.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  morphChildren(old, [...node.childNodes]);
}

/** What draws itself is left to do so. */
const isSameEmbed = (old, node) =>
  old.matches?.("fixie-embed") && node.matches?.("fixie-embed") && old.dataset.key === node.dataset.key;
