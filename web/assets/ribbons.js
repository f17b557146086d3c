// @ts-check
// Pictures beside the instructions: inlined scopes as brackets, and where each variable is as a ribbon.
import { code, count, counted, el, svg } from "./dom.js";
import { typeLink } from "./parts.js";

/** @typedef {import("./code.js").Listing} Listing */
/** @typedef {import("./code.js").Variable} Variable */
/** A variable with its rows, half open, and its column. @typedef {{variable: Variable, column: number, spans: [number, number][], places: {place: Variable["places"][0], rows: [number, number]}[]}} Ribbon */
/** @typedef {{ribbons: Ribbon[], count: number, left: number}} Columns */

/** Pixels of a bracket and of a ribbon, and how many ribbons stand side by side. */
const [BRACKET, RIBBON, MOST] = [7, 13, 16];
/** The name of a ribbon stands again after so many rows. */
const AGAIN = 24;

/** What the media are called. @type {Record<string, string>} */
const MEDIA = { register: "register", stack: "stack", memory: "memory", constant: "constant", computed: "not fetched" };

/**
 * Gives each variable a column; those that are never in scope together share one.
 * @param {Listing} listing @param {boolean} withInlined @returns {Columns}
 */
export function columns(listing, withInlined) {
  /** @type {Ribbon[]} */
  const ribbons = [];
  for (const variable of listing.variables) {
    if (!variable.places.length || (variable.scope > 0 && !withInlined)) continue;
    const spans = joined(variable.within.map((range) => listing.rowsOf(range)));
    if (spans.length) ribbons.push({ variable, column: 0, spans, places: [] });
  }
  // The function's own come first, parameters before locals; those of inlined functions from above.
  const rank = (/** @type {Ribbon} */ { variable }) => (variable.scope > 0 ? 2 : variable.kind === "local" ? 1 : 0);
  ribbons.sort((a, b) => rank(a) - rank(b) || (rank(a) === 2 ? a.spans[0][0] - b.spans[0][0] : 0));
  // The rows of each column that are taken.
  /** @type {Uint8Array[]} */
  const taken = [];
  let left = 0;
  const placed = ribbons.filter((ribbon) => {
    const isFree = (/** @type {Uint8Array} */ column) => ribbon.spans.every(([from, to]) => {
      for (let row = from; row < to; row += 1) if (column[row]) return false;
      return true;
    });
    let column = taken.findIndex(isFree);
    if (column < 0) column = taken.length;
    if (column >= MOST) {
      left += 1;
      return false;
    }
    taken[column] ??= new Uint8Array(listing.rows.length);
    for (const [from, to] of ribbon.spans) taken[column].fill(1, from, to);
    ribbon.column = column;
    return true;
  });
  for (const ribbon of placed) ribbon.places = ribbon.variable.places.map((place) => ({ place, rows: listing.rowsOf([place.from, place.to]) }));
  return { ribbons: placed, count: taken.length, left };
}

/** Ranges of rows, ascending; those that touch are one. @param {[number, number][]} ranges */
function joined(ranges) {
  /** @type {[number, number][]} */
  const spans = [];
  for (const [from, to] of ranges.filter(([from, to]) => from < to).sort((a, b) => a[0] - b[0])) {
    const last = spans[spans.length - 1];
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else spans.push([from, to]);
  }
  return spans;
}

/** What the colours mean. @param {Listing} listing @param {Columns} columns */
export function legend(listing, columns) {
  const used = new Set(columns.ribbons.flatMap(({ variable }) => variable.places.map((place) => place.in)));
  const swatch = (/** @type {string} */ kind) => svg("svg", { width: 12, height: 12, viewBox: "0 0 12 12", "aria-hidden": "true" }, kind === "gone" ? svg("line", { class: "gone", x1: 6, x2: 6, y1: 0, y2: 12 }) : svg("rect", { class: `ribbon ${kind}`, width: 12, height: 12 }));
  const never = listing.variables.filter((variable) => !variable.places.length).length;
  return el("ul", { class: "legend in-a-row" }, Object.keys(MEDIA).filter((kind) => used.has(kind)).map((kind) => el("li", {}, swatch(kind), ` ${MEDIA[kind]}`)),
    used.size ? el("li", {}, swatch("gone"), " gone") : "",
    never ? el("li", { class: "dim" }, `${counted(never, "variable")} optimized out`) : "",
    columns.left ? el("li", { class: "dim" }, `${count(columns.left)} more in the list of values`) : "");
}

/** @param {Listing} listing */
const deepest = (listing) => listing.deepest;

export const picture = {
  /** Pixels across. @param {Listing} listing @param {Columns} columns */
  width: (listing, columns) => deepest(listing) * BRACKET + columns.count * RIBBON + 12,

  /** Draws rows `first` to below `end`. @param {Listing} listing @param {Columns} columns @param {number} first @param {number} end @param {number} height of a row */
  draw(listing, columns, first, end, height) {
    const width = picture.width(listing, columns);
    const left = deepest(listing) * BRACKET + 6;
    const drawn = [];
    /** Cuts rows to what is drawn. @param {[number, number]} rows @returns {[number, number]} */
    const cut = ([from, to]) => [Math.max(from, first), Math.min(to, end)];
    for (const scope of listing.scopes) {
      if (!scope.depth) continue;
      for (const whole of scope.rows) {
        const [from, to] = cut(whole);
        if (from >= to) continue;
        const [x, top, bottom] = [(scope.depth - 1) * BRACKET + 2, (from - first) * height, (to - first) * height];
        const [begin, close] = [from === whole[0] ? `M${x + 6} ${top + 2}H${x}` : `M${x} ${top}`, to === whole[1] ? `V${bottom - 2}H${x + 6}` : `V${bottom}`];
        drawn.push(svg("path", { class: "bracket", d: begin + close }, svg("title", {}, `${scope.function}${scope.call ? `, called at ${scope.call.file}:${scope.call.line}` : ""}`)));
      }
    }
    for (const { variable, column, spans, places } of columns.ribbons) {
      if (spans[spans.length - 1][1] <= first || spans[0][0] >= end) continue;
      const x = left + column * RIBBON;
      for (const span of spans) {
        const [start, stop] = cut(span);
        if (start < stop) drawn.push(svg("line", { class: "gone", x1: x + RIBBON / 2 - 1, x2: x + RIBBON / 2 - 1, y1: (start - first) * height, y2: (stop - first) * height }));
      }
      for (const { place, rows: whole } of places) {
        const [start, stop] = cut(whole);
        if (start >= stop) continue;
        drawn.push(svg("rect", { class: `ribbon ${place.in}`, x, width: RIBBON - 2, y: (start - first) * height + (start === whole[0] ? 1 : 0), height: (stop - start) * height - (start === whole[0] ? 1 : 0) },
          svg("title", {}, `${variable.name}: ${short(place.location)}`)));
      }
      // The name, from the first row on, and again where it is long.
      for (const [from, to] of spans) {
        for (let at = from; at < to; at += AGAIN) {
          const rows = Math.min(to - at, AGAIN);
          const fitting = Math.floor((rows * height - 6) / 6.2);
          if (at + rows <= first || at >= end || fitting < 1) continue;
          const place = `translate(${x + 3} ${(at - first) * height + 5}) rotate(90)`;
          drawn.push(svg("text", { class: "spine", transform: place }, variable.name.slice(0, fitting)));
        }
      }
    }
    const drawing = svg("svg", { class: "pictures", width, height: (end - first) * height, viewBox: `0 0 ${width} ${(end - first) * height}`, role: "img",
      "aria-label": `Where ${counted(columns.ribbons.length, "variable")} and ${counted(Math.max(listing.scopes.length - 1, 0), "inlined scope")} are; the chosen instruction says it in words` }, drawn);
    return drawing;
  },
};

/** @param {string} text */
const short = (text) => (text.startsWith("DWARF operations") ? "DWARF operations" : text);

/** Where each variable in scope is at an address, as a list. @param {Listing} listing @param {import("./code.js").Scope[]} scopes @param {number} at */
export function whereabouts(listing, scopes, at) {
  const holds = (/** @type {[number, number]} */ [from, to]) => from <= at && at < to;
  const inScope = listing.variables.filter((variable) => variable.within.some(holds) && scopes.some((scope) => scope.scope === variable.scope));
  if (!inScope.length) return el("p", { class: "dim" }, "No variables are known here.");
  const order = new Map(scopes.map((scope, depth) => [scope.scope, scopes.length - depth]));
  inScope.sort((a, b) => (order.get(a.scope) ?? 0) - (order.get(b.scope) ?? 0));
  return el("table", { class: "values" }, el("caption", { class: "hidden" }, "Where each variable is"),
    el("thead", { class: "hidden" }, el("tr", {}, ["name", "place", "type"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, inScope.map((variable) => {
      const found = variable.places.find((place) => holds([place.from, place.to]));
      return el("tr", {}, el("td", {}, code(variable.name), scopes.length > 1 && variable.scope ? el("small", {}, ` ${listing.scopes[variable.scope].function}`) : ""),
        el("td", {}, found ? el("span", { class: `place ${found.in}`, title: found.location }, short(found.location)) : el("span", { class: "dim" }, variable.places.length ? "gone" : "optimized out")),
        el("td", {}, typeLink(variable.type, listing.kernel)));
    })));
}
