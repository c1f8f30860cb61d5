// Verifiable draws: what a pool is committed to, how far that is, what to publish, and how players verify.

import { base, get, part, send, text } from "./api.js";
import { commands } from "./commands.js";
import { ask } from "./dialog.js";
import { button, copied, count, field, h, moment, pill, time } from "./dom.js";
import { impossible } from "./impossible.js";
import { mayAct } from "./state.js";

/** Reads what a pool is committed to, null for a pool whose numbers are secret. */
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
      at.recommit().catch(() => {}); // the next version reads it again
    },
  };
}

/** The seed, from 1, that the next version takes its numbers from. */
const used = (at) => at.commitment && Math.floor((at.pool.version - at.commitment.version) / at.commitment.epoch_length) + 1;

/** Whether the announced round should be there. */
const due = (at) => Boolean(at.pool.opening) && Date.parse(at.pool.opening.at) <= Date.now();

/** What is shown of a pool whose numbers are secret. */
function secret(at) {
  const why = { open: "Pause the pool to commit it.", closed: "It is closed, so it stays as it is." }[at.pool.state] ?? "";
  const by = button("Commit to its numbers…", () => commit(at));
  impossible(by, why);
  return [
    h("div", { class: "title" }, h("h2", {}, "Numbers ", pill("secret", "closed")), mayAct() && by),
    h("p", {}, "Each draw takes new random numbers, which nobody knew before and nobody can check later. A committed pool fixes its numbers before it opens, and after the close anyone can verify every award. ", why),
    at.pool.state === "paused" && mayAct() && command("Where the service has no recipients to seal the seed to, on the database's machine:", commands.commit(at)),
  ];
}

function committed(at) {
  const c = at.commitment, pool = at.pool;
  return [
    h("div", { class: "title" }, h("h2", {}, "Verifiable draws ", pill(c.level, "seal")), h("div", { class: "actions" }, proofActs(at))),
    ...warnings(at),
    h("dl", { class: "facts" }, facts(at).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    h("h2", {}, "The life of the pool"), h("ol", { class: "line" }, life(at)),
    h("h2", {}, "What to publish"),
    h("p", {}, c.reveal ? "The seed is public. Publish the log beside it, so that anyone can verify." : "Publish these two where players see them, before the first draw. What is published later proves nothing of the draws before it."),
    h("div", { class: "charts" }, command("The commitment", c.note), command("The pool's key", c.key)),
    !c.salts_erased && (c.reveal ? command("All files, from this service:", commands.export(at)) : command("A program keeps the files of all committed pools, and signs a checkpoint each second:", commands.publish())),
    h("h2", {}, "How a player verifies"),
    h("p", { class: "quiet" }, "Without a token, if the service or the published folder is reached at the address of these lines."),
    c.reveal ? command("Every award of the pool, after the reveal:", commands.verify(at)) : command(`Before the draw, to keep: the pool's key${c.checkpoint ? ", and the last checkpoint" : ""}.`, commands.keep(at)),
    command(`A receipt, which ${c.receipts ? "every draw's answer has" : "the draw's answer has where it was asked for with \"receipt\":true"}:`, commands.receipt(at)),
    h("h2", {}, "What this proves"),
    h("p", {}, proven(c)), h("p", { class: "unproven" }, h("b", {}, "Not proven: "), unproven(c)),
  ];
}

const proven = (c) => `Every award behind the commitment follows from the committed seed${c.level === "beacon" ? " and from a public round that was announced before it came" : ""}. Stock and rules at every version are what the log says, no version is missing, and the order is as it was signed.`;

/** What nobody should take for proven, in one sentence. */
const unproven = (c) => `that users are real, that nobody was turned away, that prizes were sent, that an insider with the seed did not time a draw${c.level === "beacon" ? "" : " or choose among seeds"}; and, without a receipt, a witness or a kept checkpoint, who won.`;

function warnings(at) {
  const c = at.commitment, left = c.epochs - used(at);
  return [
    c.seeds === "unavailable" && !c.reveal && warning("This instance cannot unseal the seed: its draws of this pool are answered with seed-unavailable. Start it with --seed-identity-file."),
    left < 0 && !c.reveal && warning("All seeds are used: draws are answered with seeds-spent. Close the pool, reveal its seed, and go on in a new one."),
    left >= 0 && left < c.epochs / 10 && !c.reveal && warning(`${count(left)} seeds are left behind the one in use.`),
    c.stock_while_open && warning("Stock can move while the pool is open, which whoever knows the seed can use to steer. Verifiers print that as weaker."),
    c.salts_erased && warning("The secret of the log's tags was destroyed. The files that were exported before are all there is."),
  ].filter(Boolean);
}

const warning = (words) => h("p", { class: "warning" }, words);

function facts(at) {
  const c = at.commitment, pool = at.pool;
  const size = c.checkpoint ? Number(c.checkpoint.split("\n")[1]) : 0;
  return [
    ["Log", h("code", { class: "break" }, c.origin)],
    ["Committed at version", count(c.version)],
    ["Seed in use", `${count(Math.min(used(at), c.epochs))} of ${count(c.epochs)}, ${count(c.epoch_length)} versions each`],
    ["Receipts", c.receipts ? "with every draw" : "where a draw asks for one"],
    ["On this instance", c.seeds === "available" ? "the seed can be unsealed" : "the seed cannot be unsealed"],
    c.level === "beacon" && ["Beacon", h("span", { class: "break" }, c.beacon.length > 60 ? `${c.beacon.slice(0, 40)}…` : c.beacon)],
    c.level === "beacon" && ["Round announced", pool.opening ? h("span", {}, `${plain(pool.opening.round)}, `, time(pool.opening.at), due(at) ? ", not used yet" : "") : "none"],
    c.level === "beacon" && ["Round in use", c.opened ? `${plain(c.opened.round)}${pool.state === "open" ? "" : ", of the last opening"}` : "none yet"],
    ["Last checkpoint", size ? `covers the first ${count(size)} entries` : "none yet"],
    ["Seed", c.reveal ? "revealed" : "not revealed"],
  ].filter(Boolean);
}

/** A round's number as beacons write it. */
const plain = (round) => String(round);

/** The steps of a committed pool's life: [what, whether it is done, more]. */
function steps(at) {
  const c = at.commitment, pool = at.pool;
  const begun = pool.state !== "paused" || Boolean(c.opened);
  const beacon = c.level === "beacon" && pool.state !== "closed" && [
    ["A round of the beacon is announced", pool.state === "open" || Boolean(pool.opening), pool.opening && `Round ${plain(pool.opening.round)} comes at ${moment(pool.opening.at)}`],
    ["The pool opens with that round", pool.state === "open", c.opened && pool.state === "open" && `Round ${plain(c.opened.round)}`],
  ];
  return [
    ["The pool is committed", true, `Version ${count(c.version)}`],
    ["Commitment and key are published", null, "Before the first draw; only you know whether that is done"],
    ...(beacon || [["The pool opens", begun]]),
    ["Draws, restocks and rules are lines of a log that is secret until the reveal", begun && pool.state === "closed"],
    ["The pool is closed permanently", pool.state === "closed"],
    ["The seed is revealed, and with it the log", Boolean(c.reveal)],
    ["Anyone verifies", null],
  ];
}

/** The steps as a line; the first that is not done is the next. */
function life(at) {
  const all = steps(at), next = all.findIndex(([, done]) => done === false);
  return all.map(([what, done, more], i) => h("li", { class: done && "done" }, h("span", {}, what),
    done ? pill("done", "open") : i === next && pill("next", "paused"), more && h("span", { class: "quiet" }, more)));
}

/** Text that somebody is to paste, under a word of what it is. */
function command(about, words) {
  return h("figure", { class: "paste" }, h("figcaption", {}, h("span", {}, about), copied(words)), h("pre", { tabindex: "0" }, words.trimEnd()));
}

/** What an admin may do to a committed pool beside pausing and closing it. */
function proofActs(at) {
  const c = at.commitment, pool = at.pool;
  return [
    mayAct() && pool.state === "paused" && c.level === "beacon" && button(pool.opening ? "Open with the round…" : "Announce a round…", () => openWithBeacon(at)),
    mayAct() && pool.state === "closed" && !c.reveal && button("Reveal the seed…", () => reveal(at)),
  ].filter(Boolean);
}

function commit(at) {
  const beacon = h("select", {}, h("option", { value: "none" }, "none: the operator alone chooses the seed"), h("option", { value: "quicknet" }, "quicknet: a public round is mixed in at every opening"));
  const own = h("input", { maxlength: 300, autocomplete: "off", spellcheck: "false" });
  const origin = h("input", { maxlength: 200, required: true, autocomplete: "off", spellcheck: "false" });
  origin.value = base.host;
  const stock = h("input", { type: "checkbox" }), receipts = h("input", { type: "checkbox" });
  ask({
    title: "Commit the pool to its numbers?", yes: "Commit permanently",
    body: [
      h("p", {}, "This is permanent: the pool cannot be deleted then, and draws need an instance that has the seed's identity. What is in the log before stays as it is, and is not replayed."),
      field("Published under", origin, `The host that players find the log at permanently: the log is named HOST/${at.id}.`),
      field("Beacon", beacon), field("Or another chain", own, "In the words of a commitment: bls-unchained-g1-rfc9380 KEY GENESIS PERIOD."),
      h("p", {}, h("label", { class: "check" }, stock, " let stock move while a pool with a beacon is open, which proves less")),
      h("p", {}, h("label", { class: "check" }, receipts, " answer every draw with a receipt, also where none is asked for")),
    ],
    async act() {
      const wanted = own.value.trim() || beacon.value;
      await text("POST", `admin/pools/${part(at.id)}/commitment`, { origin: origin.value.trim(), beacon: wanted, stock_while_open: stock.checked && wanted !== "none", receipts: receipts.checked });
      await at.refresh();
      return "The pool is committed. Publish its commitment and key before it opens.";
    },
  });
}

/** Opens a pool with a beacon: announces a round, or opens with the one that was announced. */
export function openWithBeacon(at) {
  const path = `admin/pools/${part(at.id)}`, revision = at.pool.revision, c = at.commitment;
  const change = async (body) => {
    await send("PATCH", path, body, { "If-Match": `"${revision}"` });
    await at.refresh();
  };
  if (!at.pool.opening) {
    return ask({
      title: "Announce a round of the beacon?", yes: "Announce",
      body: [h("p", {}, "The log names a round that is not there yet, and the pool stays paused until it opens with that round. Move stock before: later moves take the announcement back."),
        command("Or one command that announces, waits and opens, where the beacon is reached:", commands.open(at, "--fetch"))],
      async act() {
        await change({ state: "open" });
        return `Round ${plain(at.pool.opening.round)} is announced. It comes at ${moment(at.pool.opening.at)}.`;
      },
    });
  }
  const { round, at: comes } = at.pool.opening;
  const words = h("textarea", { rows: 4, required: true, spellcheck: "false", class: "code", placeholder: `{"round":${round},"signature":"…"}` });
  const file = h("input", { type: "file", accept: ".json,application/json,text/plain" });
  file.addEventListener("change", async () => { if (file.files[0]) words.value = await file.files[0].text(); });
  return ask({
    title: `Open with round ${plain(round)}?`, yes: "Open", wide: true,
    body: [
      h("p", {}, "It comes at ", time(comes), ". The service checks its signature. Draws are possible at once then."),
      command("The round, as the beacon publishes it:", c.rounds_url ? commands.round(c, round) : `curl -fsS ADDRESS-OF-THE-BEACON/public/${round}`),
      field("Its file", file), field("Or its text", words),
    ],
    async act() {
      let given;
      try {
        given = JSON.parse(words.value);
      } catch {
        throw new Error("The text is no round: it must be JSON with round and signature.");
      }
      await change({ state: "open", round: given.round, signature: given.signature });
      return "The pool is open.";
    },
  });
}

function reveal(at) {
  ask({
    title: "Reveal the seed?", yes: "Reveal permanently", kind: "danger",
    body: h("p", {}, "The seed and the log of this pool are public from then on: how much was stocked, when, and what every draw won, under tags in place of names."),
    async act() {
      await text("POST", `admin/pools/${part(at.id)}/reveal`);
      await at.recommit();
      return "The seed is revealed.";
    },
  });
}

/** Shows the receipt of a draw, and whether a checkpoint covers it. */
export async function showReceipt(at, draw) {
  const { receipt, proof } = await get(`pools/${part(at.id)}/draws/${part(draw)}/receipt`, { signal: at.signal });
  const size = proof ? Number(proof.checkpoint.split("\n")[1]) : 0;
  const kept = JSON.stringify(proof ? { receipt, proof } : { receipt });
  ask({
    title: `Receipt of ${draw}`, no: "Close", wide: true,
    body: [
      h("p", {}, pill(proof ? "in the log" : "no checkpoint yet", proof ? "open" : "paused"), proof
        ? ` Entry ${count(proof.index + 1)} is under the checkpoint of ${count(size)} entries: whoever has that checkpoint holds the log to this draw.`
        : " The pool's key has signed the draw. No checkpoint covers it yet: a publisher signs one each second."),
      command("For the player, to keep as answer.json:", kept),
      command("He checks it with:", commands.receipt(at, draw)),
    ],
  });
}
