// Checks a receipt of a draw according to docs/verify/format.md: the pool's key has
// signed the lines of the draw.

import { t } from "./text.js";

const encoder = new TextEncoder();
const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", joined(...parts)));
const isUnicode = (value) => typeof value === "string" && value.isWellFormed();

/** Ends the check with an error unless holds is true. otherwise is the name of the error's text. */
function need(holds, otherwise, holes) {
  if (!holds) throw new Error(t(otherwise, holes));
}

function joined(...parts) {
  const all = parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part));
  const whole = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  all.reduce((at, part) => { whole.set(part, at); return at + part.length; }, 0);
  return whole;
}

const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
const base64url = (bytes) => base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const same = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);

/** Decodes Base64, and refuses every form except the canonical one. */
function decoded(text, what, url = false) {
  need(isUnicode(text) && (url ? /^[\w-]*$/ : /^[A-Za-z0-9+/]*={0,2}$/).test(text), "receipt.notBase64", { part: t(`receipt.a-${what}`) });
  let bytes = [];
  try {
    bytes = Uint8Array.from(atob(url ? text.replaceAll("-", "+").replaceAll("_", "/") : text), (c) => c.charCodeAt(0));
  } catch { /* the comparison fails */ }
  need((url ? base64url : base64)(bytes) === text, "receipt.notCanonical", { part: t(`receipt.a-${what}`) });
  return bytes;
}

function ofLength(bytes, length, what) {
  need(bytes.length === length, "receipt.notLong", { part: t(`receipt.a-${what}`), bytes: length });
  return bytes;
}

/** Reads a verifier key: NAME+HASH+BASE64. */
async function readKey(text) {
  const [, name, hash, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text) ?? [];
  need(name, "receipt.keyUnread");
  const key = ofLength(decoded(encoded, "key"), 33, "key");
  const id = (await sha256(name, "\n", key)).slice(0, 4);
  need(key[0] === 1 && [...id].map((byte) => byte.toString(16).padStart(2, "0")).join("") === hash, "receipt.keyForm");
  return { name, id, verify: await crypto.subtle.importKey("raw", key.slice(1), "Ed25519", false, ["verify"]) };
}

/** Returns the text of a note whose first signature must be by the key. */
async function opened(note, key) {
  need(isUnicode(note) && !/[\0-\x09\x0b-\x1f]/.test(note) && note.includes("\n\n"), "receipt.unsigned");
  const cut = note.lastIndexOf("\n\n") + 1, text = note.slice(0, cut), lines = note.slice(cut + 1).split("\n");
  need(lines.pop() === "" && lines.length > 0 && lines.length <= 100 && new Set(lines).size === lines.length, "receipt.noteForm");
  const [first, ...others] = lines.map((line) => {
    const [, name, encoded] = /^— ([^\s+]+) (\S+)$/u.exec(line) ?? [];
    const bytes = decoded(encoded, "signature");
    need(bytes.length > 4, "receipt.short");
    return { bytes, isOurs: name === key.name && same(bytes.slice(0, 4), key.id) };
  });
  need(first.isOurs && !others.some((other) => other.isOurs), "receipt.notFirst");
  need(await crypto.subtle.verify("Ed25519", key.verify, ofLength(first.bytes.slice(4), 64, "signature"), encoder.encode(text)), "receipt.wrong");
  return text;
}

/** Reads a signed tree: its name, its number of leaves, and its root. */
async function openedTree(note, key, name) {
  const text = await opened(note, key), [, size, encoded] = text.split("\n");
  const root = ofLength(decoded(encoded, "root"), 32, "root");
  need(text === `${name}\n${Number(size)}\n${encoded}\n` && Number.isSafeInteger(Number(size)) && size > 0, "receipt.otherNote", { name });
  return { size: Number(size), root };
}

/** Returns the root of a tree of the given size that has leaves from index on, by the hashes of their proof. */
async function rootOf(size, index, hashes, leaves, otherwise) {
  need(Number.isSafeInteger(index) && index >= 0 && index + leaves.length <= size && Array.isArray(hashes) && hashes.length <= 128, otherwise);
  const left = hashes.map((hash) => ofLength(decoded(hash, "hash"), 32, "hash"));
  const root = async (from, to) => {
    if (to <= index || from >= index + leaves.length) {
      need(left.length > 0, otherwise);
      return left.shift();
    }
    if (to - from === 1) return sha256(Uint8Array.of(0), leaves[from - index]);
    let half = 1;
    while (half * 2 < to - from) half *= 2;
    const middle = from + half, isRight = middle <= index; // hashes are taken first for the half that contains a leaf
    const one = await (isRight ? root(middle, to) : root(from, middle)), other = await (isRight ? root(from, middle) : root(middle, to));
    return sha256(Uint8Array.of(1), ...(isRight ? [other, one] : [one, other]));
  };
  const whole = await root(0, size);
  need(left.length === 0, otherwise);
  return whole;
}

const whys = ["sold-out", "limit", "budget", "guarantee", "moment"];
const isID = (text) => /^[a-z0-9][a-z0-9._-]{0,63}$/.test(text);

/** Reads one line of a draw; i is its index in all lines. */
function readLine(text, i, all) {
  let line = null;
  try { line = JSON.parse(text); } catch { /* the comparison fails */ }
  const members = "v,at,kind,prize,unit,draw,n,of,user";
  need(JSON.stringify(line) === text && [members, `${members},drawn,why`].includes(Object.keys(line ?? {}).join()), "receipt.lineForm");
  const isWhole = [line.v, line.unit, line.n, line.of].every((n) => Number.isSafeInteger(n) && n > 0);
  const isAt = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(line.at) && !Number.isNaN(Date.parse(line.at)) && new Date(line.at).toISOString().startsWith(line.at.slice(0, 19));
  const isRedirected = !("why" in line) || (whys.includes(line.why) && (line.drawn === null || isID(line.drawn)));
  need(line.kind === "award" && isWhole && isAt && isID(line.prize) && isRedirected && line.n === i + 1 && line.of === all.length && line.of <= 100, "receipt.notALine");
  for (const tag of [line.draw, line.user]) ofLength(decoded(tag, "tag", true), 16, "tag");
  return line;
}

const hasOnly = (object, required, optional = []) => Object.keys(object).every((name) => [...required, ...optional].includes(name)) && required.every((name) => object[name] !== undefined && object[name] !== null);

/** Checks a receipt by the key of its pool, and returns the promised lines. */
async function readReceipt(receipt, key) {
  const isBatch = receipt !== null && typeof receipt === "object" && "batch" in receipt;
  need(receipt && hasOnly(receipt, isBatch ? ["text", "batch", "salt"] : ["note", "salt"], ["user_salt"]), "receipt.missing");
  let { text } = receipt;
  if (isBatch) {
    need(hasOnly(receipt.batch, ["note", "index", "hashes"]) && isUnicode(text), "receipt.batch");
    const { size, root } = await openedTree(receipt.batch.note, key, `${key.name}/receipts`), otherwise = "receipt.notInBatch";
    need(size >= 2 && size <= 1024 && same(root, await rootOf(size, receipt.batch.index, receipt.batch.hashes, [text], otherwise)), otherwise);
  } else {
    text = await opened(receipt.note, key);
  }
  const head = `${key.name}/receipt\n`, lines = text.slice(head.length).split("\n");
  need(text.startsWith(head) && lines.pop() === "" && lines.length > 0, "receipt.otherReceipt", { name: key.name });
  const read = lines.map(readLine), [first] = read;
  need(read.every((line, i) => line.v === first.v + i && line.draw === first.draw && line.user === first.user && line.at === first.at), "receipt.mixed");
  return { lines, read };
}

/**
 * Checks a receipt, or an answer that contains one, by the key of its pool. Returns its
 * lines, and the size of the log in which a proof shows them; 0 without a proof.
 */
export async function checkReceipt(text, keyText, { draw = "", user = "" } = {}) {
  need(crypto.subtle, "receipt.noCrypto");
  let answer = null;
  try { answer = JSON.parse(text); } catch { /* the check fails */ }
  need(answer !== null && typeof answer === "object", "receipt.notOne");
  const key = await readKey(keyText), receipt = answer.receipt ?? answer;
  const { lines, read } = await readReceipt(receipt, key), [first] = read;
  const salt = ofLength(decoded(receipt.salt, "salt", true), 32, "salt");
  const userSalt = "user_salt" in receipt ? ofLength(decoded(receipt.user_salt, "user_salt", true), 32, "user_salt") : salt;
  const tag = async (by, kind, name) => base64url((await sha256(by, `${kind}\n`, name)).slice(0, 16));
  for (const name of [answer.draw, draw].filter(Boolean)) need(await tag(salt, "draw", name) === first.draw, "receipt.otherDraw");
  for (const name of [answer.user, user].filter(Boolean)) need(name === `erased:${first.user}` || await tag(userSalt, "user", name) === first.user, "receipt.otherUser");
  const isShown = (award, i) => award.prize === read[i]?.prize && award.unit === read[i].unit && award.version === read[i].v && award.at === read[i].at;
  need(!answer.awards || (answer.awards.length === read.length && answer.awards.every(isShown)), "receipt.otherAwards");
  const { proof } = answer;
  if (proof === undefined) return { lines: read, size: 0 };
  need(proof && hasOnly(proof, ["checkpoint", "index", "hashes"]), "receipt.proof");
  const { size, root } = await openedTree(proof.checkpoint, key, key.name), otherwise = "receipt.notInLog";
  need(proof.index === first.v - 1 && same(root, await rootOf(size, proof.index, proof.hashes, lines.map((line) => `${line}\n`), otherwise)), otherwise);
  return { lines: read, size };
}
