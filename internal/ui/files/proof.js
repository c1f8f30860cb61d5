// Verifiable draws: the commitment of a pool, the steps that are done, the files to
// publish, and how players verify them.

import { base, get, part, send, text } from "./api.js";
import { commands } from "./commands.js";
import { ask } from "./dialog.js";
import { button, copied, count, fact, field, folded, h, moment, pill, time } from "./dom.js";
import { impossible } from "./impossible.js";
import { mayAct } from "./state.js";
import { nodes, t } from "./text.js";

/** Reads the commitment of a pool, null for a pool whose numbers are secret. */
export const commitmentOf = (pool, signal) => (pool.committed ? get(`admin/pools/${part(pool.id)}/commitment`, { signal }) : null);

export async function proofSection(at) {
  const body = h("div", { class: "body" });
  let shown = "", asked = Date.now(), seen = at.pool.version;
  const show = () => {
    const now = JSON.stringify([at.commitment, at.pool.state, at.pool.opening, used(at), due(at)]);
    if (now === shown) return;
    shown = now;
    body.replaceChildren(...(at.commitment ? committed(at) : secret(at)).filter(Boolean));
  };
  show();
  return {
    elements: [body],
    set(pool) {
      show();
      if (!pool.committed || pool.version === seen || Date.now() - asked < 5000) return;
      [asked, seen] = [Date.now(), pool.version];
      at.recommit().catch(() => {}); // it is read again at the next version
    },
  };
}

/** The number, from 1, of the seed that gives the numbers of the next version. */
const used = (at) => at.commitment && Math.floor((at.pool.version - at.commitment.version) / at.commitment.epoch_length) + 1;

/** Whether the announced round should be available now. */
const due = (at) => Boolean(at.pool.opening) && Date.parse(at.pool.opening.at) <= Date.now();

/** The view of a pool whose numbers are secret. */
function secret(at) {
  const why = { open: t("proof.openToCommit"), closed: t("proof.closedForGood") }[at.pool.state] ?? "";
  const by = button(t("proof.makeFair"), () => commit(at));
  impossible(by, why);
  return [
    h("div", { class: "title" }, h("h2", {}, nodes("proof.fairness", { state: pill(t("proof.notYet"), "closed") })), mayAct() && by),
    h("p", {}, t("proof.secret"), " ", why),
    at.pool.state === "paused" && mayAct() && command(t("proof.commitCommand"), commands.commit(at)),
  ];
}

function committed(at) {
  const c = at.commitment, pool = at.pool;
  return [
    h("div", { class: "title" }, h("h2", {}, nodes("proof.verifiable", { state: pill(t(`proof.is-${c.level}`), "seal") })), h("div", { class: "actions" }, proofActs(at))),
    ...warnings(at),
    h("dl", { class: "facts" }, facts(at)), technical(at),
    h("h2", {}, t("proof.lifeTitle")), h("ol", { class: "line" }, life(at)),
    h("h2", {}, t("proof.publishTitle")),
    h("p", {}, c.reveal ? t("proof.publishRevealed") : t("proof.publishBefore")),
    h("div", { class: "charts" }, command(t("proof.commitment"), c.note), command(t("proof.key"), c.key)),
    !c.salts_erased && (c.reveal ? command(t("proof.exportCommand"), commands.export(at)) : command(t("proof.publishCommand"), commands.publish())),
    h("h2", {}, t("proof.verifyTitle")),
    h("p", { class: "quiet" }, t("proof.verifyAbout")),
    c.reveal ? command(t("proof.verifyCommand"), commands.verify(at)) : command(c.checkpoint ? t("proof.keepBoth") : t("proof.keepKey"), commands.keep(at)),
    command(c.receipts ? t("proof.receiptOfAll") : t("proof.receiptAsked", { member: '"receipt":true' }), commands.receipt(at)),
    h("h2", {}, t("proof.provesTitle")),
    h("p", {}, c.level === "beacon" ? t("proof.provesBeacon") : t("proof.proves")),
    h("p", { class: "unproven" }, nodes(c.level === "beacon" ? "proof.unprovenBeacon" : "proof.unproven", { not: h("b", {}, t("proof.notProven")) })),
  ];
}

function warnings(at) {
  const c = at.commitment, left = c.epochs - used(at);
  return [
    c.seeds === "unavailable" && !c.reveal && warning(t("proof.warnServer")),
    left < 0 && !c.reveal && warning(t("proof.warnSpent")),
    left >= 0 && left < c.epochs / 10 && !c.reveal && warning(t("proof.warnFew", { n: left })),
    c.stock_while_open && warning(t("proof.warnStock")),
    c.salts_erased && warning(t("proof.warnSalts")),
  ].filter(Boolean);
}

const warning = (words) => h("p", { class: "warning" }, words);

function facts(at) {
  const c = at.commitment, { opening, state } = at.pool, isBeacon = c.level === "beacon";
  const announced = opening && { round: plain(opening.round), at: time(opening.at) };
  const inUse = c.opened && (state === "open" ? plain(c.opened.round) : t("proof.lastRound", { round: plain(c.opened.round) }));
  return [
    fact(t("proof.server"), c.seeds === "available" ? t("proof.canDraw") : t("proof.cannotDraw")),
    fact(t("proof.receipts"), c.receipts ? t("proof.receiptsAll") : t("proof.receiptsAsked")),
    isBeacon && fact(t("proof.announced"), announced ? h("span", {}, nodes(due(at) ? "proof.announcedUnused" : "proof.announcedAt", announced)) : t("proof.announcedNone")),
    isBeacon && fact(t("proof.inUse"), inUse ?? t("proof.noneYet")),
    fact(t("proof.seed"), c.reveal ? t("proof.revealed") : t("proof.notRevealed")),
  ];
}

/** The technical facts of a commitment. */
function technical(at) {
  const c = at.commitment, size = c.checkpoint ? Number(c.checkpoint.split("\n")[1]) : 0;
  return folded(h("dl", { class: "facts" },
    fact(t("proof.log"), h("code", { class: "break" }, c.origin)),
    fact(t("proof.committedAt"), count(c.version)),
    fact(t("proof.seedInUse"), t("proof.seedOf", { n: Math.min(used(at), c.epochs), of: c.epochs, each: c.epoch_length })),
    c.level === "beacon" && fact(t("proof.beacon"), h("span", { class: "break" }, c.beacon.length > 60 ? `${c.beacon.slice(0, 40)}…` : c.beacon)),
    fact(t("proof.checkpoint"), size ? t("proof.covers", { size }) : t("proof.noCheckpoint"))));
}

/** The number of a round, without grouping, as beacons write it. */
const plain = (round) => String(round);

/** The steps in the life of a committed pool: [name, whether it is done or null, more text]. */
function steps(at) {
  const c = at.commitment, pool = at.pool;
  const begun = pool.state !== "paused" || Boolean(c.opened);
  const beacon = c.level === "beacon" && pool.state !== "closed" && [
    [t("proof.stepAnnounced"), pool.state === "open" || Boolean(pool.opening), pool.opening && t("proof.roundComes", { round: plain(pool.opening.round), at: moment(pool.opening.at) })],
    [t("proof.stepOpensWith"), pool.state === "open", c.opened && pool.state === "open" && t("proof.round", { round: plain(c.opened.round) })],
  ];
  return [
    [t("proof.stepCommitted"), true, t("proof.entry", { n: c.version })],
    [t("proof.stepPublished"), null, t("proof.onlyYou")],
    ...(beacon || [[t("proof.stepOpens"), begun]]),
    [t("proof.stepDraws"), begun && pool.state === "closed"],
    [t("proof.stepClosed"), pool.state === "closed"],
    [t("proof.stepRevealed"), Boolean(c.reveal)],
    [t("proof.stepVerifies"), null],
  ];
}

/** The list of these steps. The first step that is not done is marked as the next one. */
function life(at) {
  const all = steps(at), next = all.findIndex(([, done]) => done === false);
  return all.map(([what, done, more], i) => h("li", { class: done && "done" }, h("span", {}, what),
    done ? pill(t("proof.done"), "open") : i === next && pill(t("proof.next"), "paused"), more && h("span", { class: "quiet" }, more)));
}

/** Text for pasting, with a caption. */
function command(about, words) {
  return h("figure", { class: "paste" }, h("figcaption", {}, h("span", {}, about), copied(words)), h("pre", { tabindex: "0" }, words.trimEnd()));
}

/** The actions of an admin on a committed pool, except pausing and closing it. */
function proofActs(at) {
  const c = at.commitment, pool = at.pool;
  return [
    mayAct() && pool.state === "paused" && c.level === "beacon" && button(pool.opening ? t("proof.openWith") : t("proof.announce"), () => openWithBeacon(at)),
    mayAct() && pool.state === "closed" && !c.reveal && button(t("proof.reveal"), () => reveal(at)),
  ].filter(Boolean);
}

function commit(at) {
  const beacon = h("select", {}, h("option", { value: "none" }, t("proof.beaconNone")), h("option", { value: "quicknet" }, t("proof.beaconQuicknet")));
  const own = h("input", { maxlength: 300, autocomplete: "off", spellcheck: "false" });
  const origin = h("input", { maxlength: 200, required: true, autocomplete: "off", spellcheck: "false" });
  origin.value = base.host;
  const stock = h("input", { type: "checkbox" }), receipts = h("input", { type: "checkbox" });
  ask({
    title: t("proof.commitTitle"), yes: t("proof.commitYes"),
    body: [
      h("p", {}, t("proof.commitAbout")),
      field(t("proof.origin"), origin, t("proof.originHint", { id: at.id })),
      field(t("proof.beacon"), beacon), field(t("proof.chain"), own, t("proof.chainHint")),
      h("p", {}, h("label", { class: "check" }, stock, ` ${t("proof.stockWhileOpen")}`)),
      h("p", {}, h("label", { class: "check" }, receipts, ` ${t("proof.receiptAlways")}`)),
    ],
    async act() {
      const wanted = own.value.trim() || beacon.value;
      await text("POST", `admin/pools/${part(at.id)}/commitment`, { origin: origin.value.trim(), beacon: wanted, stock_while_open: stock.checked && wanted !== "none", receipts: receipts.checked });
      await at.refresh();
      return t("proof.isCommitted");
    },
  });
}

/** Opens a pool with a beacon: announces a round, or opens the pool with the announced round. */
export function openWithBeacon(at) {
  const path = `admin/pools/${part(at.id)}`, revision = at.pool.revision, c = at.commitment;
  const change = async (body) => {
    await send("PATCH", path, body, { "If-Match": `"${revision}"` });
    await at.refresh();
  };
  if (!at.pool.opening) {
    return ask({
      title: t("proof.announceTitle"), yes: t("proof.announceYes"),
      body: [h("p", {}, t("proof.announceAbout")),
        command(t("proof.announceCommand"), commands.open(at, "--fetch"))],
      async act() {
        await change({ state: "open" });
        return t("proof.isAnnounced", { round: plain(at.pool.opening.round), at: moment(at.pool.opening.at) });
      },
    });
  }
  const { round, at: comes } = at.pool.opening;
  const words = h("textarea", { rows: 4, required: true, spellcheck: "false", class: "code", placeholder: JSON.stringify({ round, signature: "…" }) });
  const file = h("input", { type: "file", accept: ".json,application/json,text/plain" });
  file.addEventListener("change", async () => { if (file.files[0]) words.value = await file.files[0].text(); });
  return ask({
    title: t("proof.openTitle", { round: plain(round) }), yes: t("proof.openYes"), wide: true,
    body: [
      h("p", {}, nodes("proof.openAbout", { at: time(comes) })),
      command(t("proof.roundCommand"), commands.round(c, round)),
      field(t("proof.roundFile"), file), field(t("proof.roundText"), words),
    ],
    async act() {
      let given;
      try {
        given = JSON.parse(words.value);
      } catch {
        throw new Error(t("proof.noRound"));
      }
      await change({ state: "open", round: given.round, signature: given.signature });
      return t("proof.isOpen");
    },
  });
}

function reveal(at) {
  ask({
    title: t("proof.revealTitle"), yes: t("proof.revealYes"), kind: "danger",
    body: h("p", {}, t("proof.revealAbout")),
    async act() {
      await text("POST", `admin/pools/${part(at.id)}/reveal`);
      await at.recommit();
      return t("proof.isRevealed");
    },
  });
}

/** Shows the receipt of a draw, and whether a checkpoint covers it. */
export async function showReceipt(at, draw) {
  const { receipt, proof } = await get(`pools/${part(at.id)}/draws/${part(draw)}/receipt`, { signal: at.signal });
  const size = proof ? Number(proof.checkpoint.split("\n")[1]) : 0;
  const kept = JSON.stringify(proof ? { receipt, proof } : { receipt });
  ask({
    title: t("proof.receiptTitle", { draw }), no: t("proof.close"), wide: true,
    body: [
      h("p", {}, proof
        ? nodes("proof.covered", { state: pill(t("proof.inLog"), "open"), n: proof.index + 1, size })
        : nodes("proof.uncovered", { state: pill(t("proof.notInLog"), "paused") })),
      command(t("proof.answerFile"), kept),
      command(t("proof.checksWith"), commands.receipt(at, draw)),
    ],
  });
}
