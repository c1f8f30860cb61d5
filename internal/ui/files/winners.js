// The wins of a pool, and their states, from the history and the steps.

import { get, part } from "./api.js";
import { records } from "./csv.js";
import { amountOf, cents } from "./money.js";

const exported = async (at, path, isEscaped) => {
  const mark = path.includes("?") ? "&" : "?";
  return records(await get(`admin/pools/${part(at.id)}/${path}${mark}formulas=${isEscaped ? "escaped" : "exact"}`, { accept: "text/csv", signal: at.signal }));
};

/** All wins in the order of the draws, each with its state. isEscaped makes texts safe for spreadsheets. */
export async function winners(at, isEscaped = false) {
  const wins = await exported(at, "awards?win=true", isEscaped); // wins are read before steps, so that none of their steps is missing
  const lives = new Map();
  for (const step of await exported(at, "steps", isEscaped)) {
    const life = lives.get(step.award) ?? { state: "won", since: "", reference: "" };
    lives.set(step.award, {
      state: step.state, since: step.state === life.state && step.to !== "fulfilled" ? life.since : step.at,
      reference: step.to === "fulfilled" ? step.reference : step.state === "fulfilled" ? life.reference : "",
    });
  }
  return wins.map((win) => ({ ...win, award: win.version, since: win.at, ...(lives.get(win.version) ?? { state: "won", reference: "" }) }));
}

export const hasEnded = (win) => win.state === "expired" || win.state === "voided";

/** The value that each user is owed or has received. Wins that have expired or were voided do not count. */
export function payout(wins) {
  const users = new Map();
  for (const win of wins) {
    if (hasEnded(win)) continue;
    const user = users.get(win.user) ?? { user: win.user, wins: 0, cents: 0n, sent: 0n };
    user.wins++;
    user.cents += cents(win.value);
    if (win.state === "fulfilled") user.sent += cents(win.value);
    users.set(win.user, user);
  }
  return [...users.values()].map((user) => ({ user: user.user, wins: user.wins, value: amountOf(user.cents), sent: amountOf(user.sent), open: amountOf(user.cents - user.sent) }));
}

/** The lines of the daily statements, and lines with the day "today" for the draws that they do not contain yet. */
export async function daily(at) {
  const lines = records(await get(`admin/pools/${part(at.id)}/statements`, { accept: "text/csv", signal: at.signal }));
  const pool = await get(`admin/pools/${part(at.id)}`, { signal: at.signal });
  const before = new Map();
  for (const line of lines) {
    const so = before.get(line.prize) ?? { issued: 0, cents: 0n };
    before.set(line.prize, { issued: so.issued + Number(line.issued), cents: so.cents + cents(line.value) });
  }
  return [...lines, ...pool.prizes.map((prize) => {
    const so = before.get(prize.id) ?? { issued: 0, cents: 0n };
    return { day: "today", prize: prize.id, issued: prize.issued - so.issued, remaining: prize.remaining ?? "endless", value: amountOf(cents(prize.given) - so.cents), to_version: pool.version };
  })];
}
