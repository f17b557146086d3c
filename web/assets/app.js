// @ts-check
// Which page is shown. Links and forms of the pages change the address, and nothing is loaded anew.
import { kernels } from "./ask.js";
import { codePage } from "./code.js";
import { el } from "./dom.js";
import { functionPage } from "./function.js";
import { diffPage, historyPage, kernelPage } from "./kernels.js";
import { linesPage } from "./lines.js";
import { blacklistPage, findPage, tapsetsPage } from "./lists.js";
import { problem } from "./parts.js";
import { home, search } from "./search.js";
import { addressPage, logPage, scriptPage } from "./text.js";
import { typePage } from "./type.js";

/** @type {Record<string, (page: import("./parts.js").Page) => Promise<any>>} */
const PAGES = {
  "/": home,
  "/function": functionPage,
  "/code": codePage,
  "/lines": linesPage,
  "/type": typePage,
  "/address": addressPage,
  "/diff": diffPage,
  "/history": historyPage,
  "/log": logPage,
  "/script": scriptPage,
  "/tapsets": tapsetsPage,
  "/tracepoints": findPage,
  "/find": findPage,
  "/blacklist": blacklistPage,
  "/kernel": kernelPage,
};

const main = /** @type {HTMLElement} */ (document.getElementById("content"));
let running = new AbortController();
let known = { known: /** @type {import("./ask.js").Kernel[]} */ ([]), error: /** @type {import("./ask.js").Problem | null} */ (null) };
let kernel = "";

/** Shows the page of the address. @param {boolean} isFirst */
async function show(isFirst) {
  // What the page before is still asking nobody wants to know.
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const url = new URL(location.href);
  const fields = url.searchParams;
  document.documentElement.dataset.state = "busy";
  main.setAttribute("aria-busy", "true");
  try {
    if (!known.known.length) known = await kernels(signal);
    const newest = known.known[known.known.length - 1]?.kernel ?? "";
    kernel = fields.get("kernel") || newest;
    main.replaceChildren();
    for (const link of document.querySelectorAll("nav a")) {
      if (link.getAttribute("href")?.split("?")[0] === url.pathname) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const title = (/** @type {string} */ text) => {
      document.title = text === "probeidx" ? text : `${text} · probeidx`;
    };
    // Without kernels every page would say the same.
    if (known.error) main.append(problem(known.error));
    else await (PAGES[url.pathname] ?? home)({ main, fields, kernels: known.known, kernel, signal, path: url.pathname, go, title });
    if (!isFirst && document.activeElement === document.body) main.focus({ preventScroll: true });
    main.querySelector(".cell.marked, td .marked")?.scrollIntoView({ block: "center" });
  } catch (failed) {
    if (signal.aborted) return;
    main.append(problem({ kind: "page", message: `This page cannot be shown: ${failed instanceof Error ? failed.message : failed}` }));
  }
  if (signal.aborted) return;
  main.removeAttribute("aria-busy");
  document.documentElement.dataset.state = "ready";
}

/** @param {string} address */
function go(address) {
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
  scrollTo(0, 0);
  void show(false);
}

document.addEventListener("click", (event) => {
  const link = /** @type {Element} */ (event.target).closest("a[href]");
  if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const href = link.getAttribute("href") ?? "";
  if (!href.startsWith("/") || href.startsWith("//")) return;
  event.preventDefault();
  go(href);
});
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (event.defaultPrevented || form.id === "search") return;
  event.preventDefault();
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === "string" && value) fields.append(name, value);
  go(`${form.getAttribute("action")}?${fields}`);
});
addEventListener("popstate", () => void show(false));

search({ kernel: () => kernel, kernels: () => known.known.length, go });
document.querySelector(".home")?.append(el("span", { class: "hidden" }, ": first page"));
void show(true);
