// Webhooks: where events are sent, which ones still wait, and the actions on a webhook.

import { get, part, send } from "./api.js";
import { ask, complain, message } from "./dialog.js";
import { button, copied, duration, fact, field, folded, h, pill, time } from "./dom.js";
import { live, mayAct } from "./state.js";
import { isText, nodes, t } from "./text.js";

const freshEvery = 2000;
const colours = { on: "open", failing: "bad", off: "paused", forked: "bad" };
/** The types of events, with a dash instead of their dot. By default all are sent except losing tickets. */
const events = [
  "award-won", "award-lost", "award-claimed", "award-fulfilled", "award-reopened", "award-expired", "award-voided", "award-replaced", "prize-low",
  "prize-empty", "pool-empty", "agenda-failed", "budget-spent", "pool-opened", "pool-paused", "pool-closed",
];

export async function hooksView(signal) {
  const list = h("div");
  let shown = "";
  const read = async () => {
    const { hooks } = await get("admin/hooks", { signal });
    const text = JSON.stringify(hooks);
    if (text === shown) return; // an unchanged list is not drawn again, so that it keeps the focus
    shown = text;
    const focused = list.contains(document.activeElement) && [document.activeElement.closest("[data-hook]")?.dataset.hook, document.activeElement.textContent];
    list.replaceChildren(...(hooks.length ? hooks.map((hook) => card(hook, read)) : [h("p", { class: "quiet" }, t("hooks.none"))]));
    if (focused) [...list.querySelectorAll("button")].find((b) => b.textContent === focused[1] && b.closest("[data-hook]").dataset.hook === focused[0])?.focus();
  };
  await read();
  const timer = setInterval(() => read().catch(complain), freshEvery);
  signal.addEventListener("abort", () => clearInterval(timer));
  return [
    h("div", { class: "title" }, h("h1", {}, t("hooks.title")), h("div", { class: "actions" }, mayAct() && button(t("hooks.addNew"), () => add(read)))),
    h("p", { class: "quiet" }, t("hooks.about")), list,
  ];
}

function card(hook, read) {
  const waits = hook.next_at !== null;
  const only = (ids) => (ids ? ids.join(", ") : t("hooks.all"));
  const acts = mayAct() ? [
    button(t("hooks.test"), () => test(hook).catch(complain)),
    waits && button(t("hooks.retry"), () => retry(hook, read).catch(complain)),
    waits && button(t("hooks.skip"), () => skip(hook, read)),
    button(t("hooks.replay"), () => replay(hook, read)),
    button(t("hooks.rotate"), () => rotate(hook, read)),
    button(hook.state === "off" ? t("hooks.turnOn") : t("hooks.turnOff"), () => turn(hook, read)),
    button(t("hooks.remove"), () => remove(hook, read), "danger"),
  ] : [];
  return h("section", { class: "job", "aria-label": hook.url, dataset: { hook: hook.id } },
    h("div", { class: "title" }, h("div", { class: "row" }, h("h2", { class: "break" }, hook.url), pill(t(`hooks.is-${hook.state}`), colours[hook.state])), h("div", { class: "actions" }, acts.filter(Boolean))),
    hook.why && h("p", { class: "warning" }, isText(`hooks.why-${hook.why}`) ? t(`hooks.why-${hook.why}`) : t("hooks.forked")),
    h("dl", { class: "facts" },
      fact(t("hooks.waiting"), hook.lag.events ? t("hooks.waitingSince", { n: hook.lag.events, age: duration(hook.lag.seconds) }) : t("hooks.waitingNone")),
      fact(t("hooks.last"), hook.last ? h("span", {}, nodes("hooks.lastAt", { answer: answered(hook.last), at: time(hook.last.at) })) : t("hooks.lastNone")),
      fact(t("hooks.next"), waits && time(hook.next_at)),
      fact(t("hooks.oldSecret"), hook.old_secret_until && time(hook.old_secret_until)),
      fact(t("hooks.campaigns"), only(hook.pools)), fact(t("hooks.prizes"), only(hook.prizes))),
    folded(h("dl", { class: "facts" },
      fact(t("hooks.id"), h("code", {}, hook.id)), fact(t("hooks.why"), hook.why), fact(t("hooks.error"), hook.last?.error && h("span", { class: "break" }, hook.last.error)), fact(t("hooks.events"), h("span", { class: "break" }, hook.types.join(", "))))));
}

/** How a receiver answered, in words. */
function answered({ status, error, ms }) {
  const name = `hooks.error-${(error ?? "").replaceAll(" ", "-")}`;
  if (!status) return t("hooks.noAnswer", { error: t(isText(name) ? name : "hooks.error-other"), ms });
  const holes = { status: String(status), ms };
  return status >= 200 && status < 300 ? t("hooks.taken", holes) : t("hooks.notTaken", holes);
}

function add(read) {
  const url = h("input", { type: "url", required: true, maxlength: 1000, autocomplete: "off", spellcheck: "false" });
  const boxes = events.map((name) => {
    const input = h("input", { type: "checkbox", value: name.replace("-", "."), id: `event-${name}` });
    input.checked = name !== "award-lost";
    return { input, element: h("label", { class: "check", for: input.id }, input, ` ${t(`hooks.event-${name}`)}`) };
  });
  const pools = chooser(t("hooks.onlyCampaigns"), [...live.pools.values()].map((pool) => [pool.id, pool.name]));
  const prizes = h("input", { maxlength: 1000, autocomplete: "off", spellcheck: "false" });
  const from = h("select", {}, h("option", { value: "now" }, t("hooks.fromNow")), h("option", { value: "start" }, t("hooks.fromStart")));
  ask({
    title: t("hooks.addTitle"), yes: t("hooks.addYes"), wide: true,
    body: [
      field(t("hooks.address"), url, t("hooks.addressHint")),
      h("fieldset", {}, h("legend", {}, t("hooks.events")), h("div", { class: "checks" }, boxes.map((b) => b.element))),
      pools.element, field(t("hooks.onlyPrizes"), prizes, t("hooks.onlyPrizesHint")), field(t("hooks.begin"), from),
    ],
    async act() {
      const types = boxes.filter((b) => b.input.checked).map((b) => b.input.value);
      if (!types.length) throw new Error(t("hooks.chooseOne"));
      const wanted = { url: url.value.trim(), types, from: from.value };
      if (pools.chosen().length) wanted.pools = pools.chosen();
      if (prizes.value.trim()) wanted.prizes = prizes.value.split(",").map((id) => id.trim()).filter(Boolean);
      const { data } = await send("POST", "admin/hooks", wanted);
      await read();
      showSecret(data, t("hooks.added"));
    },
  });
}

/** Check boxes, for example for campaigns. Without a ticked box nothing is filtered. */
function chooser(legend, entries) {
  const boxes = entries.map(([id, name]) => ({ id, input: h("input", { type: "checkbox", id: `only-${id}` }), name }));
  return {
    element: boxes.length ? h("fieldset", {}, h("legend", {}, legend), h("div", { class: "checks" }, boxes.map((b) => h("label", { class: "check", for: b.input.id }, b.input, ` ${b.name}`)))) : "",
    chosen: () => boxes.filter((b) => b.input.checked).map((b) => b.id),
  };
}

/** Shows a secret. The service returns it only once, and the page drops it when the dialog is closed. */
function showSecret(hook, said) {
  ask({
    title: t("hooks.secretTitle"), no: t("hooks.close"), wide: true,
    body: [
      h("p", {}, `${said} ${t("hooks.secretNow")}`),
      h("figure", { class: "paste" }, h("figcaption", {}, t("hooks.secret"), copied(hook.secret)), h("pre", { class: "secret-words" }, hook.secret)),
    ],
  });
}

const path = (hook, act = "") => `admin/hooks/${part(hook.id)}${act && `/${act}`}`;

async function test(hook) {
  message(t("hooks.testing", { url: hook.url }));
  const { data } = await send("POST", path(hook, "test"));
  message(t("hooks.tested", { answer: answered(data) }), data.status >= 200 && data.status < 300 ? "" : "bad");
}

async function retry(hook, read) {
  await send("POST", path(hook, "retry"));
  await read();
  message(t("hooks.retried"));
}

const poolField = (hook) => {
  const ids = hook.pools ?? [...live.pools.keys()];
  return h("select", { required: true }, ids.map((id) => h("option", { value: id }, live.pools.get(id)?.name ?? id)));
};

function skip(hook, read) {
  const pool = poolField(hook);
  ask({
    title: t("hooks.skipTitle"), yes: t("hooks.skipYes"), kind: "danger",
    body: [h("p", {}, t("hooks.skipAbout")), field(t("hooks.campaign"), pool)],
    async act() {
      await send("POST", path(hook, "skip"), { pool: pool.value });
      await read();
      return t("hooks.skipped");
    },
  });
}

function replay(hook, read) {
  const pool = poolField(hook);
  const after = h("input", { type: "number", min: 0, step: 1, value: 0, required: true, inputmode: "numeric" }), step = h("input", { type: "number", min: 0, step: 1, value: 0, required: true, inputmode: "numeric" });
  ask({
    title: t("hooks.replayTitle"), yes: t("hooks.replayYes"),
    body: [
      h("p", {}, t("hooks.replayAbout")), field(t("hooks.campaign"), pool),
      field(t("hooks.afterEntry"), after, t("hooks.afterEntryHint")), field(t("hooks.afterStep"), step, t("hooks.afterStepHint")),
    ],
    async act() {
      await send("POST", path(hook, "replay"), { pool: pool.value, after: Number(after.value), after_step: Number(step.value) });
      await read();
      return t("hooks.replayed");
    },
  });
}

function rotate(hook, read) {
  ask({
    title: t("hooks.rotateTitle"), yes: t("hooks.rotateYes"), body: h("p", {}, t("hooks.rotateAbout")),
    async act() {
      const { data } = await send("POST", path(hook, "rotate"));
      await read();
      showSecret(data, t("hooks.rotated"));
    },
  });
}

function turn(hook, read) {
  const isOff = hook.state === "off";
  ask({
    title: isOff ? t("hooks.onTitle") : t("hooks.offTitle"), yes: isOff ? t("hooks.onYes") : t("hooks.offYes"),
    body: [h("p", {}, isOff ? t("hooks.onAbout") : t("hooks.offAbout")), h("p", { class: "break" }, hook.url)],
    async act() {
      await send("PATCH", path(hook), { state: isOff ? "on" : "off" });
      await read();
      return isOff ? t("hooks.isOn") : t("hooks.isOff");
    },
  });
}

function remove(hook, read) {
  ask({
    title: t("hooks.removeTitle"), yes: t("hooks.removeYes"), kind: "danger",
    body: [h("p", {}, t("hooks.removeAbout")), h("p", { class: "break" }, hook.url)],
    async act() {
      await send("DELETE", path(hook));
      await read();
      return t("hooks.removed");
    },
  });
}
