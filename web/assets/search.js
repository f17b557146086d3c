// @ts-check
import { ask } from "./ask.js";
import { address, counted, el } from "./dom.js";
import { problem } from "./parts.js";

/** @typedef {{kind: string, name: string, about: string, kernels: string[]}} Hit */

/** Where a result leads. @param {Hit} hit @param {string} chosen the kernel that the page is about */
export function target(hit, chosen) {
  const kernel = hit.kernels.includes(chosen) ? chosen : hit.kernels[hit.kernels.length - 1];
  switch (hit.kind) {
    case "type":
      return address("/type", { kernel, name: hit.name });
    case "member":
      return address("/type", { kernel, name: hit.name.slice(0, hit.name.lastIndexOf(".")), member: hit.name.slice(hit.name.lastIndexOf(".") + 1) });
    case "file":
      return address("/lines", { kernel, spec: hit.name });
    case "alias":
      return address("/tapsets", { kernel, pattern: hit.name });
    case "module":
      return address("/find", { kernel, pattern: `${hit.name}:*` });
    case "address":
      return address("/address", { at: hit.name });
    case "kernel":
      return address("/kernel", { kernel: hit.name });
    default:
      return address("/function", { kernel, spec: hit.name });
  }
}

/** @param {Hit} hit @param {number} all */
function about(hit, all) {
  const some = hit.kernels.length < all ? `${hit.kernels.length} of ${counted(all, "kernel")}` : "";
  return [el("span", { class: "kind" }, hit.kind), el("span", { class: "name" }, hit.name),
    el("span", { class: "about" }, [hit.about, some].filter(Boolean).join(" · "))];
}

/** The field in the head of each page. @param {{kernel: () => string, kernels: () => number, go: (address: string) => void}} page */
export function search(page) {
  const field = /** @type {HTMLInputElement} */ (document.getElementById("q"));
  const list = /** @type {HTMLElement} */ (document.getElementById("results"));
  const form = /** @type {HTMLFormElement} */ (document.getElementById("search"));
  /** @type {Hit[]} */
  let hits = [];
  let shownFor = "";
  let at = -1;
  let running = new AbortController();
  /** @type {Promise<void>} */
  let pending = Promise.resolve();

  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
    at = -1;
  };
  const mark = (/** @type {number} */ next) => {
    list.children[at]?.removeAttribute("aria-selected");
    at = next;
    const chosen = list.children[at];
    if (!chosen) return field.removeAttribute("aria-activedescendant");
    chosen.setAttribute("aria-selected", "true");
    chosen.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", chosen.id);
  };
  const choose = (/** @type {Hit} */ hit) => {
    close();
    field.value = "";
    shownFor = "";
    field.blur();
    page.go(target(hit, page.kernel()));
  };
  const update = async () => {
    const typed = field.value.trim();
    running.abort();
    running = new AbortController();
    if (!typed) {
      hits = [];
      return close();
    }
    const answer = await ask("search", { q: typed }, { signal: running.signal });
    hits = answer.items;
    shownFor = typed;
    at = -1;
    field.removeAttribute("aria-activedescendant");
    list.replaceChildren(...hits.map((hit, index) =>
      el("li", { role: "option", id: `result-${index}`, mousedown: (/** @type {MouseEvent} */ event) => event.preventDefault(), click: () => choose(hit) },
        about(hit, page.kernels()))));
    if (answer.error) list.replaceChildren(problem(answer.error));
    else if (!hits.length) list.replaceChildren(el("li", { class: "none" }, `No kernel has a name with “${typed}” in it`));
    list.scrollTop = 0;
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
  };
  field.addEventListener("input", () => {
    // What is asked anew ends the question before it.
    pending = update().catch(() => {});
  });
  field.addEventListener("focus", () => {
    if (field.value.trim() && hits.length) list.hidden = false;
  });
  // An answer that comes later must not open the list again.
  const leave = () => {
    running.abort();
    close();
  };
  field.addEventListener("blur", leave);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (list.hidden) field.blur();
      leave();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && hits.length && !list.hidden) {
      event.preventDefault();
      mark((at + (event.key === "ArrowDown" ? 1 : at < 0 ? 0 : -1) + hits.length) % hits.length);
    }
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const typed = field.value.trim();
    if (!typed) return;
    const chosen = hits[at];
    if (chosen && shownFor === typed) return choose(chosen);
    await pending;
    const first = hits[0];
    const isMeant = first && shownFor === typed && (first.name === typed || first.name.startsWith(typed) || first.name.split(" ").pop() === typed);
    if (isMeant) return choose(first);
    close();
    field.blur();
    page.go(address("/", { q: typed }));
  });
  document.addEventListener("keydown", (event) => {
    const element = /** @type {Element} */ (event.target);
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !element.closest("input, textarea, select")) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  });
}

/** The first page: results if something is searched, else the kernels. @param {import("./parts.js").Page} page */
export async function home(page) {
  const typed = page.fields.get("q");
  if (typed) {
    page.title(`Search: ${typed}`);
    const answer = await ask("search", { q: typed }, { signal: page.signal });
    page.main.append(el("h1", {}, "Search: ", el("code", {}, typed)));
    if (answer.error) return page.main.append(problem(answer.error));
    if (!answer.items.length) page.main.append(el("p", {}, "No kernel has a name with this in it."));
    const hits = /** @type {Hit[]} */ (answer.items);
    return page.main.append(el("ul", { class: "hits" }, hits.map((hit) =>
      el("li", {}, el("a", { href: target(hit, page.kernel) }, about(hit, page.kernels.length))))));
  }
  page.title("probeidx");
  page.main.append(
    el("h1", {}, "Where can I probe this kernel, and what can I read there?"),
    el("p", {}, "Type a name above, or press ", el("kbd", {}, "/"), ": a function, a type, ", el("code", {}, "struct file.f_pos"), ", a file, a tracepoint, an alias, a module, ",
      el("code", {}, "vfs_read+0x9c"), " or an address. All kernels are searched."),
    el("h2", {}, counted(page.kernels.length, "kernel")),
    el("ul", { class: "cards" }, [...page.kernels].reverse().map(({ kernel, architecture, build_id }) =>
      el("li", {}, el("a", { href: address("/kernel", { kernel }) }, kernel), el("span", {}, architecture), el("code", { title: "build id" }, build_id.slice(0, 12))))));
}
