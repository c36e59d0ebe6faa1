"use strict";
// Elements by description. A drawing describes what should be there; what is there is changed as little as that takes, so that focus,
// scroll, selection and opened details stay. Names, log excerpts and texts of rules come from strangers: they become text nodes and
// attributes, never HTML.

// h("a", {href: "#", class: "x"}, "text", …): children may be lists; undefined, null and false are none.
function h(tag, properties, ...children) {
  const given = properties ?? {};
  return {tag, key: given.key, properties: given, children: children.flat(Infinity).filter(is_there)};
}
const is_there = (child) => child !== undefined && child !== null && child !== false;

// Described again only when the signature is another one.
const unless_same = (key, signature, make) => ({key, signature, make});

const text_of = (description) => (typeof description === "object" ? undefined : String(description));
const whole = (description) => (description.make ? {...description.make(), key: description.key} : description);

function create(description) {
  const text = text_of(description);
  if (text !== undefined) return document.createTextNode(text);
  const {tag, properties, children} = whole(description);
  const node = document.createElement(tag);
  node.drawn = {tag, key: description.key, signature: description.signature, properties};
  for (const [name, value] of Object.entries(properties)) set(node, name, value, undefined);
  draw(node, children);
  if (tag === "select") node.value = properties.value;   // its options came after it
  return node;
}

function set(node, name, value, before) {
  if (name === "key") return;
  if (name === "style") {
    for (const part of Object.keys(before ?? {})) if (!(part in (value ?? {}))) node.style.removeProperty(part);
    for (const [part, to] of Object.entries(value ?? {})) if (before?.[part] !== to) node.style.setProperty(part, to);
  } else if (value === before) {
    return;
  } else if (name.startsWith("on")) {
    node[name] = value ?? null;
  } else if (name === "value") {
    if (node !== document.activeElement) node.value = value;
  } else if (name === "open") {
    if (before === undefined) node.open = value;   // afterwards it is the reader's
  } else if (!is_there(value)) {
    node.removeAttribute(name);
  } else {
    node.setAttribute(name, value === true ? "" : value);
  }
}

function fits(node, description) {
  if (text_of(description) !== undefined) return node.nodeType === Node.TEXT_NODE;
  return node.drawn !== undefined && node.drawn.key === description.key && (description.make !== undefined || node.drawn.tag === description.tag);
}

function change(node, description) {
  const text = text_of(description);
  if (text !== undefined) {
    if (node.nodeValue !== text) node.nodeValue = text;
    return;
  }
  if (description.make && node.drawn.signature === description.signature) return;
  const {properties, children} = whole(description);
  const before = node.drawn.properties;
  node.drawn = {...node.drawn, signature: description.signature, properties};
  for (const name of Object.keys(before)) if (!(name in properties)) set(node, name, undefined, before[name]);
  for (const [name, value] of Object.entries(properties)) set(node, name, value, before[name]);
  draw(node, children);
}

// Makes the children of a node those that are described.
function draw(parent, children) {
  const keys = new Set(children.map((child) => child.key));
  const known = new Map();
  for (const node of parent.childNodes) if (node.drawn?.key !== undefined) known.set(node.drawn.key, node);
  let at = parent.firstChild;
  const drop = () => {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  };
  for (const child of children) {
    while (at?.drawn?.key !== undefined && !keys.has(at.drawn.key)) drop();
    const keyed = child.key !== undefined;
    let node = keyed ? known.get(child.key) : at ?? undefined;
    if (node && !fits(node, child)) node = undefined;
    if (node) change(node, child);
    else node = create(child);
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  while (at) drop();
}

// The same, for the whole of a part of the page. An element that had to be moved is given its focus back.
function draw_part(id, children) {
  const focused = document.activeElement;
  draw(document.getElementById(id), children.flat(Infinity).filter(is_there));
  if (focused !== document.activeElement && focused.isConnected) focused.focus({preventScroll: true});
}
