// @ts-check
// Elements from text. No string becomes markup: what an index says is a stranger's.

/** @typedef {Node | string | number | null | undefined | false} One */
/** Lists in lists are one list. @typedef {One | any[]} Child */

// What would command a terminal into which it is pasted, or turn the order of what is read: controls and bidi controls.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text with what cannot be seen written out. @param {string} text */
export const visible = (text) => text.replace(UNSEEN, (one) => `\\u{${one.charCodeAt(0).toString(16)}}`);

/**
 * @param {Element} element
 * @param {Record<string, any>} attributes functions are listeners; true is an attribute without a value
 * @param {Child[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  }
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return /** @type {HTMLElement} */ (fill(document.createElement(tag), attributes, children));
}

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return /** @type {SVGElement} */ (fill(element, attributes, children));
}

/**
 * The address of a page. Empty fields are left out.
 * @param {string} page
 * @param {Record<string, string | null | undefined>} fields
 */
export function address(page, fields = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value) query.append(name, value);
  const text = query.toString();
  return text ? `${page}?${text}` : page;
}

/**
 * @param {string} page
 * @param {Record<string, string | null | undefined>} fields
 * @param {...Child} children
 */
export function link(page, fields, ...children) {
  return el("a", { href: address(page, fields) }, ...children);
}

/** @param {...Child} children */
export const code = (...children) => el("code", {}, ...children);

/**
 * A table; cells are children.
 * @param {string} caption
 * @param {Child[]} head
 * @param {Child[][]} rows
 */
export function table(caption, head, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {},
      el("caption", { class: "hidden" }, caption),
      el("thead", {}, el("tr", {}, head.map((cell) => el("th", { scope: "col" }, cell)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell)))))));
}

const NUMBERS = new Intl.NumberFormat("en");
/** @param {number} number */
export const count = (number) => NUMBERS.format(number);

/**
 * @param {number} number
 * @param {string} one
 * @param {string} [several]
 */
export const counted = (number, one, several = `${one}s`) => `${count(number)} ${number === 1 ? one : several}`;
