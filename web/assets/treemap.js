// @ts-check
import { address, count, el, svg } from "./dom.js";

/** @typedef {{name: string, size: number, good: number, href: string}} Leaf */
/** @typedef {{name: string, size: number, leaves: Leaf[]}} Group */
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
 * Copies by file and by caller. What is too small for a word has its name as a tooltip; the tree beside it has all.
 * @param {Group[]} groups
 * @param {string} label
 */
export function treemap(groups, label) {
  const [width, height] = [1000, 360];
  const root = svg("svg", { class: "treemap", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const largest = (/** @type {{size: number}} */ a, /** @type {{size: number}} */ b) => b.size - a.size;
  for (const { part: group, box } of squarified([...groups].sort(largest), { x: 0, y: 0, w: width, h: height })) {
    const top = box.h > 30 && box.w > 60 ? 15 : 0;
    const file = svg("g", { class: "file" },
      svg("rect", { x: box.x + 0.5, y: box.y + 0.5, width: Math.max(box.w - 1, 0.5), height: Math.max(box.h - 1, 0.5) }),
      svg("title", {}, `${group.name}: ${count(group.size)}`));
    if (top) file.append(words(group.name, `${count(group.size)}`, { ...box, h: top }, "name"));
    const inside = { x: box.x + 1.5, y: box.y + 1.5 + top, w: box.w - 3, h: box.h - 3 - top };
    // Below two pixels a side nothing is seen: the file stands for its callers.
    if (inside.w > 3 && inside.h > 3) {
      for (const { part: leaf, box: own } of squarified([...group.leaves].sort(largest), inside)) {
        if (own.w < 1.2 || own.h < 1.2) continue;
        const share = leaf.good === leaf.size ? "ok" : leaf.good ? "some" : "no";
        const shape = svg("rect", { class: share, x: own.x + 0.5, y: own.y + 0.5, width: Math.max(own.w - 1, 0.5), height: Math.max(own.h - 1, 0.5) });
        const title = svg("title", {}, `${leaf.name}: ${count(leaf.size)}, ${count(leaf.good)} reachable by kprobe`);
        const anchor = svg("a", { href: leaf.href, tabindex: "-1" }, shape, title);
        if (own.w > 42 && own.h > 13) anchor.append(words(leaf.name, leaf.size > 1 ? count(leaf.size) : "", own, "leaf"));
        file.append(anchor);
      }
    }
    root.append(file);
  }
  return el("div", { class: "picture" }, root);
}

/**
 * As much of a name as there is room for.
 * @param {string} name
 * @param {string} number
 * @param {Box} box
 * @param {string} kind
 */
function words(name, number, box, kind) {
  const room = Math.floor((box.w - 6) / 5.7);
  const whole = number ? `${name} ${number}` : name;
  const text = whole.length <= room ? whole : name.length <= room ? name : kind === "name" ? `…${name.slice(1 - room)}` : `${name.slice(0, room - 1)}…`;
  return svg("text", { class: kind, x: box.x + 3, y: box.y + 11 }, text);
}

/** @param {string} spec @param {string} kernel */
export const functionAddress = (spec, kernel) => address("/function", { kernel, spec });
