// The final count: compares the service's audit with an independent count of
// its log.
import { admin } from './requests.js';
import { awarded, count, oddsZ, stocked } from './counts.js';
import { stop } from './options.js';

export function read(path, headers = {}) {
  const r = admin('GET', path, null, headers);
  if (r.status !== 200) stop(`${path} answers ${r.status}: ${r.body}`);
  return r;
}

// awardsOf reads the whole log of awards, in order, as the CSV that the
// contract describes. A later release may add columns at the end.
export function awardsOf(pool) {
  const lines = read(`/admin/pools/${pool}/awards`, { Accept: 'text/csv' }).body.split(/\r?\n/).filter((line) => line !== '');
  const names = lines.shift();
  if (!`${names},`.startsWith('version,at,draw,ordinal,user,prize,name,value,unit,')) stop(`the award log has other columns: ${names}`);
  const columns = names.split(',').length;
  return lines.map((line) => {
    const cells = line.split(',');
    if (cells.length !== columns) stop(`the award log has a line of ${cells.length} cells: ${line}`);
    return { version: Number(cells[0]), draw: cells[2], ordinal: Number(cells[3]), user: cells[4], prize: cells[5], unit: Number(cells[8]) };
  });
}

function movesOf(pool) {
  const all = [];
  for (let after = 0; ;) {
    const page = read(`/admin/pools/${pool}/moves?after=${after}`).json('moves');
    if (!Array.isArray(page)) stop('the list of moves has no member "moves"');
    if (page.length === 0) return all;
    all.push(...page);
    after = page[page.length - 1].version;
  }
}

// account reads the audit and the logs, counts, and sets the metrics of the
// thresholds.
export function account(pool) {
  const audit = read(`/admin/pools/${pool}/audit`).json();
  const awards = awardsOf(pool);
  const moves = movesOf(pool);
  const counted = tallyBy(awards, (a) => a.prize);
  for (const p of audit.prizes) {
    const n = counted[p.prize] || 0;
    const tags = { prize: p.prize };
    stocked.add(p.stocked, tags);
    awarded.add(n, tags);
    count('over_issued', Math.max(n - p.stocked, p.over_issued, 0), tags);
    count('under_issued', Math.max(p.stocked - n, 0), tags);
    const agrees = p.awards === n && p.issued === n && p.remaining === p.stocked - p.issued;
    count('audit_disagrees', agrees ? 0 : 1);
  }
  const known = new Set(audit.prizes.map((p) => p.prize));
  count('audit_disagrees', awards.filter((a) => !known.has(a.prize)).length);
  count('audit_violations', audit.violations.length + (audit.ok === (audit.violations.length === 0) ? 0 : 1));
  for (const v of audit.violations.slice(0, 5)) console.error(`the audit reports ${JSON.stringify(v)}`);
  count('unaccounted', -awards.length);
  versions(pool, audit, awards, moves);
  draws(awards);
  oddsZ.add(odds(audit, awards, moves));
  count('audits');
}

export function tallyBy(list, key) {
  const n = {};
  for (const x of list) n[key(x)] = (n[key(x)] || 0) + 1;
  return n;
}

// lookupsMax is the maximum number of lookups of changes. A pool has few
// changes.
const lookupsMax = 100;

// changesAt returns the versions that belong to changes in the log. A program
// without such a log has no changes.
function changesAt(pool, versions) {
  return versions.slice(0, lookupsMax).filter((v) => {
    const r = admin('GET', `/admin/pools/${pool}/log?after=${v - 1}&limit=1`);
    const [entry] = (r.status === 200 && r.json('entries')) || [];
    return entry !== undefined && entry.kind === 'change' && entry.version === v;
  });
}

// versions checks that awards, moves and changes together have the versions 1,
// 2, 3 ….
function versions(pool, audit, awards, moves) {
  const all = awards.concat(moves).map((x) => x.version);
  const known = new Set(all);
  const missing = [];
  for (let v = 1; v <= audit.version && missing.length < lookupsMax; v += 1) {
    if (!known.has(v)) missing.push(v);
  }
  all.push(...changesAt(pool, missing));
  const distinct = new Set(all);
  const last = all.reduce((a, b) => Math.max(a, b), 0);
  count('version_gaps', last - distinct.size);
  count('version_doubles', all.length - distinct.size);
  count('audit_disagrees', audit.version === last ? 0 : 1);
}

// draws checks that the awards of one key belong to one user and are numbered
// 1, 2, 3 …, and that no unit of a prize occurs twice.
export function draws(awards) {
  const next = {};
  const owner = {};
  const units = new Set();
  let doubles = 0;
  for (const a of awards) {
    next[a.draw] = (next[a.draw] || 0) + 1;
    owner[a.draw] = owner[a.draw] || a.user;
    const unit = `${a.prize} ${a.unit}`;
    if (a.ordinal !== next[a.draw] || owner[a.draw] !== a.user || units.has(unit)) doubles += 1;
    units.add(unit);
  }
  count('draw_doubles', doubles);
}

// odds measures whether rare prizes won as often as the law of a draw requires.
// At each award of the log, the stock at that moment gives the chance of a rare
// prize. odds sums up the differences between the results and these chances,
// and returns the sum divided by its standard deviation. By chance, that
// exceeds 6 in fewer than one of ten million runs. All prizes except the one
// with the largest stock are rare. odds returns 0 if there are too few awards.
function odds(audit, awards, moves) {
  const left = {};
  for (const p of audit.prizes) left[p.prize] = p.stocked;
  for (const m of moves) left[m.prize] -= m.delta;
  const common = audit.prizes.reduce((a, b) => (b.stocked > a.stocked ? b : a)).prize;
  let [total, rare] = [0, 0];
  const add = (prize, n) => {
    left[prize] += n;
    total += n;
    if (prize !== common) rare += n;
  };
  for (const [prize, n] of Object.entries(left)) {
    left[prize] = 0;
    add(prize, n);
  }
  let [surprise, variance, seen] = [0, 0, 0];
  const log = awards.map((a) => [a.version, a.prize, 0]).concat(moves.map((m) => [m.version, m.prize, m.delta]));
  for (const [, prize, delta] of log.sort((a, b) => a[0] - b[0])) {
    if (delta === 0) {
      const chance = total > 0 ? rare / total : 0;
      const hit = prize === common ? 0 : 1;
      surprise += hit - chance;
      variance += chance * (1 - chance);
      seen += hit;
    }
    add(prize, delta === 0 ? -1 : delta);
  }
  return seen >= 50 && variance > 0 ? Math.abs(surprise) / Math.sqrt(variance) : 0;
}
