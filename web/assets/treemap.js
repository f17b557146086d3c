// @ts-check
import { address, count, el, svg } from "./dom.js";

/**
 * A part: so many copies, of which so many are reachable. What has parts can be zoomed into, what has an address followed.
 * @typedef {{name: string, size: number, good: number, parts?: Part[], href?: () => string}} Part
 */
/** @typedef {{x: number, y: number, w: number, h: number}} Box */

/**
 * Divides a box among sizes, largest first, so that the parts are nearly square (Bruls, Huizing, van Wijk 2000).
 * @template {{size: number}} T
 * @param {T[]} parts sorted, largest first
 * @param {Box} box
 * @returns {{part: T, box: Box}[]}
 */
export function squarified(parts, box) {
  const total = parts.reduce((sum, part) => sum + part.size, 0);
  const placed = [];
  let { x, y, w, h } = box;
  let scale = total ? (w * h) / total : 0;
  let at = 0;
  while (at < parts.length && w > 0 && h > 0) {
    const side = Math.min(w, h);
    let sum = 0;
    let worst = Infinity;
    let end = at;
    while (end < parts.length) {
      const next = sum + parts[end].size * scale;
      const [largest, smallest] = [parts[at].size * scale, parts[end].size * scale];
      const ratio = Math.max((side * side * largest) / (next * next), (next * next) / (side * side * smallest));
      if (ratio > worst) break;
      [worst, sum] = [ratio, next];
      end += 1;
    }
    const thick = sum / side;
    let along = 0;
    for (const part of parts.slice(at, end)) {
      const length = (part.size * scale) / thick;
      placed.push({
        part,
        box: w >= h ? { x, y: y + along, w: thick, h: length } : { x: x + along, y, w: length, h: thick },
      });
      along += length;
    }
    if (w >= h) [x, w] = [x + thick, w - thick];
    else [y, h] = [y + thick, h - thick];
    at = end;
  }
  return placed;
}

/**
 * Parts and the parts of these, as areas. What is too small for a word has its name as a tooltip; the list below has all.
 * @param {Part[]} parts
 * @param {string} label
 */
export function treemap(parts, label) {
  const picture = el("div", { class: "picture" });
  /** @param {Part[]} shown @param {Part[]} way */
  const show = (shown, way) => {
    const back = way.length ? el("div", { class: "buttons" },
      [null, ...way].map((step, at) => el("button", { type: "button", disabled: at === way.length, click: () => show(step ? step.parts ?? [] : parts, way.slice(0, at)) }, step ? step.name : "all"))) : "";
    picture.replaceChildren(...[back].filter((part) => part instanceof Node), drawn(shown, label, (part) => show(part.parts ?? [], [...way, part])));
  };
  show(parts, []);
  return picture;
}

/** @param {Part[]} parts @param {string} label @param {(part: Part) => void} zoom */
function drawn(parts, label, zoom) {
  const [width, height] = [1000, 380];
  const root = svg("svg", { class: "treemap", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const largest = (/** @type {Part} */ a, /** @type {Part} */ b) => b.size - a.size;
  for (const { part: group, box } of squarified([...parts].sort(largest), { x: 0, y: 0, w: width, h: height })) {
    const top = group.parts && box.h > 30 && box.w > 60 ? 15 : 0;
    const area = svg("g", { class: group.parts ? "file zoom" : "file", click: group.parts && parts.length > 1 ? (/** @type {Event} */ event) => {
      if (!(/** @type {Element} */ (event.target).closest("a"))) zoom(group);
    } : null }, shape(group, box), title(group));
    if (top) area.append(words(group.name, count(group.size), { ...box, h: top }, "name"));
    const inside = { x: box.x + 1.5, y: box.y + 1.5 + top, w: box.w - 3, h: box.h - 3 - top };
    // Where parts are too small to be seen, the whole stands for them: to draw thousands takes longer than to look at them.
    if (group.parts && (inside.w < 12 || inside.h < 12)) area.append(shape(group, box, share(group)));
    else if (group.parts) {
      for (const { part, box: own } of squarified([...group.parts].sort(largest), inside)) {
        // Nobody hits what is smaller.
        if (own.w < 4 || own.h < 4) continue;
        area.append(leaf(part, own));
      }
    } else if (!group.parts) area.append(leaf(group, box));
    root.append(area);
  }
  return root;
}

/** @param {Part} part @param {Box} box */
function leaf(part, box) {
  const area = svg(part.href ? "a" : "g", part.href ? { href: part.href(), tabindex: "-1" } : {}, shape(part, box, share(part)), title(part));
  if (box.w > 42 && box.h > 13) area.append(words(part.name, part.size > 1 ? count(part.size) : "", box, part.parts ? "name" : "leaf"));
  return area;
}

/** @param {Part} part */
const share = (part) => (part.good === part.size ? "ok" : part.good ? "some" : "no");

/** @param {Part} part @param {Box} box @param {string} [kind] */
const shape = (part, box, kind = "") => svg("rect", { class: kind, x: box.x + 0.5, y: box.y + 0.5, width: Math.max(box.w - 1, 0.5), height: Math.max(box.h - 1, 0.5) });

/** @param {Part} part */
const title = (part) => svg("title", {}, `${part.name}: ${count(part.size)}, ${count(part.good)} reachable by kprobe`);

/**
 * As much of a name as there is room for.
 * @param {string} name
 * @param {string} number
 * @param {Box} box
 * @param {string} kind
 */
function words(name, number, box, kind) {
  const room = Math.floor((box.w - 6) / 6.2);
  const whole = number ? `${name} ${number}` : name;
  const text = whole.length <= room ? whole : name.length <= room ? name : kind === "name" ? `…${name.slice(1 - room)}` : `${name.slice(0, room - 1)}…`;
  return svg("text", { class: kind, x: box.x + 3, y: box.y + 11 }, text);
}

/** @param {string} spec @param {string} kernel */
export const functionAddress = (spec, kernel) => address("/function", { kernel, spec });
