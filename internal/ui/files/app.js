// The admin page: the sign-in, the frame around all views, and the choice of the view.

import { banner } from "./alerts.js";
import { get, session, token } from "./api.js";
import { complain, problemText } from "./dialog.js";
import { button, field, h, moment, operator, say, useZone } from "./dom.js";
import { hooksView } from "./hooks.js";
import { jobsView } from "./jobs.js";
import { poolView } from "./pool.js";
import { poolsView } from "./pools.js";
import { begin, live, readsPools, self, watch } from "./state.js";
import { nodes, sentenceOf, t } from "./text.js";

const idleMax = 60 * 60 * 1000; // the token is dropped after an hour without a keystroke or a click
const root = document.getElementById("app");

let signedIn = new AbortController();
let shown = new AbortController();
let used = Date.now();

/** Ends the session, and shows the form for the token. */
function signIn(why = "") {
  signedIn.abort();
  shown.abort();
  token.drop();
  document.querySelectorAll("dialog").forEach((dialog) => dialog.close());
  // Browsers offer to store text that is typed into type=password, even with
  // autocomplete=off.
  const input = h("input", { type: "text", class: "secret", autocomplete: "off", required: true, spellcheck: "false", autocapitalize: "off" });
  const error = h("div", { class: "error", role: "alert" }, why);
  const form = h("form", { class: "sign-in", method: "post" },
    h("h1", {}, operator), h("p", { class: "quiet" }, t("app.intro")),
    field(t("app.key"), input, nodes("app.keyHint", { command: h("code", {}, "drawsvc token new") })),
    error, h("p", {}, h("button", { type: "submit", class: "strong" }, t("app.signIn"))));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = input.value.trim();
    say(error, "");
    if (!/^[\x21-\x7e]+$/.test(text)) return say(error, t("app.keyForm"));
    token.set(text);
    session.end = () => {};
    try {
      await start();
    } catch (problem) {
      token.drop();
      if (problem.status === 403) problem.note = t("app.keyRole");
      if (problem.status === 401) say(error, t("app.keyWrong"));
      else error.replaceChildren(...problemText(problem));
      input.select();
    }
  });
  root.replaceChildren(h("main", { class: "entrance" }, form));
  document.title = operator;
  input.focus();
}

/** Signs in with the token of this tab. */
async function start() {
  Object.assign(self, await get("admin/self"));
  signedIn = new AbortController();
  session.end = () => signIn(t("app.keyEnded"));
  root.replaceChildren(...frame());
  begin(signedIn.signal);
  show(); // not awaited: its failure does not end the session
}

/** The frame around every view. */
function frame() {
  const status = h("span", { class: "live", role: "status" });
  const state = () => {
    status.classList.toggle("on", live.is);
    say(status, t(live.is ? "app.live" : live.why ? "app.notLive" : "app.connecting"));
    status.title = live.is ? t("app.lastReading", { at: moment(live.at) }) : live.why;
  };
  watch(state, signedIn.signal);
  state();
  return [
    h("a", { class: "skip", href: "#main", onclick: (event) => { event.preventDefault(); document.querySelector("main").focus(); } }, t("app.skip")),
    h("header", { class: "top" },
      h("a", { class: "mark", href: "#/" }, operator),
      h("nav", { "aria-label": t("app.views") }, h("a", { href: "#/" }, t("app.campaigns")), readsPools() && [h("a", { href: "#/hooks" }, t("app.hooks")), h("a", { href: "#/jobs" }, t("app.maintenance"))]),
      status,
      h("span", { class: "who", id: "who" }, h("b", {}, self.name), ` · ${t(`roles.${self.role}`)}`),
      h("span", { class: "tools" }, button(t("app.theme"), theme, "plain"), button(t("app.signOut"), () => signIn(), "plain"))),
    banner(signedIn.signal),
    h("main", { id: "main", tabindex: "-1" }),
    h("div", { id: "messages", role: "status", "aria-live": "polite" }),
  ];
}

/** Changes between light and dark; the first time it begins with the system's setting. */
function theme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("drawsvc-theme", document.documentElement.dataset.theme);
}

/** Decodes a part of the address. If it cannot be decoded, because somebody typed it, it is used as it is. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Shows the view that the address names. */
async function show() {
  if (!token.get()) return;
  shown.abort();
  shown = new AbortController();
  const [view = "", id = "", section = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const main = document.querySelector("main");
  const signal = AbortSignal.any([shown.signal, signedIn.signal]);
  document.querySelectorAll(".top nav a").forEach((a) => {
    const current = (["hooks", "jobs"].includes(view) ? `#/${view}` : "#/") === a.hash;
    if (current) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  });
  try {
    useZone(null); // the view of a pool sets the pool's zone
    const content = await (view === "pools" && id ? poolView(id, section, signal) : view === "jobs" ? jobsView(signal) : view === "hooks" ? hooksView(signal) : poolsView(signal));
    if (signal.aborted) return;
    main.replaceChildren(...content);
    main.dataset.shown = location.hash;
    const title = main.querySelector("h1");
    document.title = `${title.textContent} – ${operator}`;
    main.querySelector(".sections [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); // on a phone the list of sections scrolls
    title.tabIndex = -1;
    title.focus({ preventScroll: Boolean(section) });
  } catch (problem) {
    if (signal.aborted) return;
    main.replaceChildren(...problemText(problem, (text) => h("h1", {}, text)), h("p", {}, h("a", { href: "#/" }, t("app.allCampaigns"))));
    if (!problem.status && problem.name !== "Error") throw problem;
  }
}

for (const sign of ["keydown", "pointerdown"]) addEventListener(sign, () => { used = Date.now(); });
setInterval(() => {
  if (token.get() && Date.now() - used > idleMax) signIn(t("app.idle"));
}, 10_000);
addEventListener("hashchange", show);
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName)) return;
  const search = document.querySelector("input[type=search]");
  if (search) {
    event.preventDefault();
    search.focus();
  }
});

const chosen = localStorage.getItem("drawsvc-theme");
if (chosen) document.documentElement.dataset.theme = chosen;
if (token.get()) {
  start().catch((problem) => {
    signIn(problem.status ? sentenceOf(problem) : "");
    complain(problem);
  });
} else signIn();
