// The public page of fairness of a pool: what can be won, by which rules, and a check of receipts. It needs no token.

import { bar, copied, field, h, outside, pill, table } from "./dom.js";
import { checkReceipt } from "./receipt.js";
import { locale } from "./text.js";

const root = document.getElementById("fair");
const answerMax = 1 << 20; // characters of a pasted answer

/** A moment in the time zone of the rules, with the zone. */
function zoned(text, zone) {
  const written = (timeZone) => new Intl.DateTimeFormat(locale, { timeZone, dateStyle: "full", timeStyle: "short" }).format(new Date(text));
  try {
    return h("time", { datetime: text }, `${written(zone)} (${zone})`);
  } catch { // the browser does not know the zone
    return h("time", { datetime: text }, `${written("UTC")} (UTC)`);
  }
}

/** A fraction such as 1/3, in percent. */
function percent(fraction) {
  const [above, below = "1"] = fraction.split("/");
  return Number((BigInt(above) * 10n ** 12n) / BigInt(below)) / 1e10;
}
const shownPercent = (fraction) => `${new Intl.NumberFormat(locale, { maximumSignificantDigits: 4 }).format(percent(fraction))} %`;

function money(amount, currency) {
  const style = currency ? { style: "currency", currency } : {};
  return new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2, ...style }).format(amount);
}

const states = { open: "Draws are possible now.", paused: "No draw is possible now.", closed: "The draw has ended." };

function dates(facts) {
  const rows = [facts.opens_at && ["It opens", facts.opens_at], facts.closes_at && ["It ends or pauses", facts.closes_at]].filter(Boolean);
  return h("div", {}, h("p", { class: "row" }, pill(facts.state), states[facts.state] ?? ""), rows.map(([words, at]) => h("p", {}, `${words} `, zoned(at, facts.zone), ".")));
}

/** The prizes. A picture is a link: the page loads nothing from elsewhere. */
function prizes(facts) {
  const worth = (p) => Number(p.value) > 0 && h("span", { class: "quiet" }, ` ${money(p.value, facts.currency)}`);
  const links = (p) => [outside(p.image ?? "", "Picture"), outside(p.link ?? "", "More about it")].filter(Boolean);
  const item = (p) => h("li", { dataset: { prize: p.id } }, h("div", {}, h("b", {}, p.name), worth(p), p.description && h("p", { class: "quiet" }, p.description)), h("span", { class: "row" }, links(p)));
  return [
    h("h2", {}, "What can be won"), h("ul", { class: "files" }, facts.prizes.map(item)),
    facts.more > 0 && h("p", { class: "quiet" }, `And ${facts.more} more prizes.`),
  ];
}

function odds(facts) {
  if (!facts.odds) return [];
  const names = new Map(facts.prizes.map((p) => [p.id, p.name]));
  const row = (name, chance) => {
    const share = bar(name, { says: "chance", isLow: () => false });
    share.set(percent(chance), 100);
    return [name, share.element, shownPercent(chance), h("code", {}, chance)];
  };
  const lost = [facts.odds.none, ...facts.odds.odds.filter((c) => !names.has(c.prize)).map((c) => c.chance)].filter((chance) => !chance.startsWith("0/"));
  const rows = facts.odds.odds.filter((c) => names.has(c.prize)).map((c) => row(names.get(c.prize), c.chance));
  rows.push(...lost.map((chance) => row("No win", chance)));
  return [
    h("h2", {}, "Chances of the next draw"), table("Chances", ["Prize", "Share", "#Chance", "#Exactly"], rows),
    facts.odds.moments && h("p", { class: "quiet" }, "A draw may also get a prize at a winning moment, which these chances leave out."),
  ];
}

function paste(title, words) {
  return h("figure", { class: "paste" }, h("figcaption", {}, title, copied(words)), h("pre", { tabindex: "0", "aria-label": title }, words));
}

function commitment({ commitment: c }) {
  if (!c) return [h("h2", {}, "Proof"), h("p", {}, "The numbers of this draw are secret. Nobody outside can verify them.")];
  const how = c.level === "beacon" ? "and a public source of random numbers decided" : "decided";
  return [
    h("h2", {}, "Proof"),
    h("p", {}, `The operator has committed to a secret seed, which nobody can change afterwards. From then on, the seed ${how} what each draw wins. `,
      c.revealed ? "The seed is revealed: anybody can verify every draw since then." : "When the draw has ended, the seed is revealed, and anybody can verify every draw since then."),
    h("p", { class: "quiet" }, "Keep this text, or compare it with one that you got elsewhere: it must never change."),
    paste("Commitment", c.note), paste("Key", c.key),
  ];
}

/** The form that checks a receipt in this browser, and sends it nowhere. */
function receipts({ commitment: c }) {
  if (!c) return [];
  const text = h("textarea", { rows: 6, class: "code", required: true, spellcheck: "false", maxlength: answerMax });
  const draw = h("input", { autocomplete: "off", spellcheck: "false", maxlength: 128 }), user = h("input", { autocomplete: "off", spellcheck: "false", maxlength: 128 });
  const result = h("div", { role: "status", class: "preview" });
  const form = h("form", { novalidate: false }, field("Your receipt", text, "The whole answer that you got, from { to }."),
    h("div", { class: "fields" }, field("Name of the draw", draw, "If you know it."), field("Your user name", user, "If you know it.")),
    h("p", {}, h("button", { type: "submit", class: "strong" }, "Check my receipt")), result);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    result.replaceChildren();
    try {
      const found = await checkReceipt(text.value, c.key.trim(), { draw: draw.value, user: user.value });
      result.replaceChildren(...good(found));
    } catch (problem) {
      result.replaceChildren(h("p", { class: "error", dataset: { ok: false } }, h("strong", {}, "The receipt does not hold: "), problem.message, "."));
    }
  });
  return [h("h2", {}, "Check my receipt"), h("p", {}, "It is checked in your browser, and sent nowhere. A receipt that holds is a promise of the operator: the public log must have this draw."), form];
}

function good({ lines, size }) {
  return [
    h("p", { dataset: { ok: true } }, pill("holds", "open"), ` The operator's key has signed ${lines.length === 1 ? "this draw" : `these ${lines.length} awards of one draw`}. `,
      size > 0 ? `The signed log of ${size} entries has it.` : "It has no proof of the log yet."),
    table("What the receipt promises", ["#Entry", "Prize", "#Unit", "At"], lines.map((line) => [String(line.v), h("code", {}, line.prize), String(line.unit), line.at])),
  ];
}

function verifiers({ commitment: c, id }) {
  if (!c) return [];
  const file = (name) => h("a", { href: new URL(`-/${name}`, location.href).href, download: name }, name);
  return [
    h("h2", {}, "Verify everything"),
    h("p", {}, "Two programs that were written independently verify all files of the draw after its end: ", h("code", {}, "drawsvc verify"), ", a part of this program, and ", file("verify.py"), " with ", file("bls.py"), ", which need only Python 3."),
    paste("On a command line", `drawsvc verify ${id}/\npython3 verify.py ${id}/`),
  ];
}

async function show() {
  const answer = await fetch(new URL(`${location.pathname.split("/").pop()}/facts`, location.href), { credentials: "omit", redirect: "error" });
  const facts = await answer.json();
  if (!answer.ok) throw new Error(facts.detail ?? "The service does not answer.");
  document.title = `Fairness: ${facts.name}`;
  root.replaceChildren(...[
    h("h1", {}, facts.name), facts.text && h("p", {}, facts.text), dates(facts), ...prizes(facts),
    h("h2", {}, "The rules"), h("ul", { class: "lines", dataset: { rules: true } }, facts.words.map((words) => h("li", {}, words))),
    ...odds(facts), ...commitment(facts), ...receipts(facts), ...verifiers(facts),
  ].filter(Boolean));
}

show().catch((problem) => root.replaceChildren(h("h1", {}, "Fairness"), h("p", { class: "error", role: "alert" }, problem.message, " Load the page again in a moment.")));
