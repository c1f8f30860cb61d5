// Requests that are retried: a draw is retried with the same key until its
// outcome is known.
import http from 'k6/http';
import { hexEncode, randomBytes } from 'k6/crypto';
import exec from 'k6/execution';
import { sleep } from 'k6';
import { adminToken, admins, bases, byPath, drawToken, given, patience, silenceMax, stop } from './options.js';
import { count, latency, unexpected } from './counts.js';

http.setResponseCallback(http.expectedStatuses({ min: 100, max: 599 })); // the scripts judge every status themselves

let turn = 0;

// base returns the next instance; each VU goes through the instances round
// robin.
export function base(of = bases) {
  turn += 1;
  return of[(exec.vu.idInTest + turn) % of.length];
}

function params(token, headers = {}) {
  const auth = token === '' ? {} : { Authorization: `Bearer ${token}` };
  return { headers: Object.assign({ 'Content-Type': 'application/json' }, auth, headers), timeout: '60s' };
}

// ask sends a request that is not a draw and returns the answer. It ends the
// run if no instance answers or if the token is refused. instance is the
// address to use; null means the next one that answers.
function ask(token, method, instance, path, body = null, headers = {}) {
  const [name, value] = token;
  const until = Date.now() + 1000 * silenceMax;
  for (;;) {
    const at = instance || base(admins);
    try {
      const r = http.request(method, at + path, body === null ? null : JSON.stringify(body), params(value, headers));
      if (r.status === 401 || r.status === 403) stop(`${at} refuses the token (${r.status}): set ${name}`);
      if (r.status !== 503 || path === '/readyz' || Date.now() > until) return r;
    } catch (e) {
      if (path === '/readyz' || Date.now() > until) stop(`${at} does not answer: ${reason(e)}`);
      count('no_answer');
    }
    sleep(0.5);
  }
}

// admin makes an operator's call to an instance.
export const admin = (method, path, body, headers, instance = null) => ask(['ADMIN_TOKEN', adminToken], method, instance, path, body, headers);

const reason = (e) => String(e.message || e).replace(/^(GoError: )?(Get|Post|Patch) "[^"]*": /, '');

// codeOf returns the code of an answer that is a problem, '' for other answers.
export function codeOf(r) {
  try {
    return r.json('code') || '';
  } catch (_) {
    return '';
  }
}

// open checks the instances and both tokens, and creates the pool; more are
// further members of the pool.
export function open(p, more = {}) {
  console.log(`options: ${given.join(' ')}`);
  for (const at of admins) {
    const ready = admin('GET', '/readyz', null, {}, at);
    if (ready.status !== 200) stop(`${at}/readyz answers ${ready.status}: this is no drawsvc, or it is not ready`);
    const list = admin('GET', '/admin/pools', null, {}, at);
    if (list.status !== 200) stop(`${at}/admin/pools answers ${list.status}: this is no drawsvc`);
  }
  const made = admin('POST', '/admin/pools', Object.assign({ id: p.id, name: 'Load test', prizes: p.prizes }, more, p.mode ? { mode: p.mode } : {}));
  if (codeOf(made) === 'pool-exists') stop(`pool ${p.id} exists already: name another one with POOL`);
  if (made.status !== 201) stop(`pool ${p.id} cannot be made: ${made.status} ${made.body}`);
  for (const at of bases) {
    ask(['DRAW_TOKEN', drawToken], 'GET', at, `/pools/${p.id}`); // a wrong token ends the run here
  }
  return { pool: p.id };
}

// move changes a prize's stock once, even if the request is retried.
export function move(poolID, prizeID, delta, key) {
  return admin('POST', `/admin/pools/${poolID}/prizes/${prizeID}/stock`, { delta, reason: 'load test' }, { 'Idempotency-Key': key });
}

// restock adds units, which must succeed.
export function restock(poolID, prizeID, delta, key) {
  const r = move(poolID, prizeID, delta, key);
  if (r.status < 200 || r.status > 299) unexpected(`stock of ${prizeID} by ${delta}: ${r.status} ${r.body}`);
}

// newKey returns a key for one draw, of the kind that callers should use: keys
// rise with time, and nobody can guess them.
export function newKey() {
  return `${Date.now()}-${hexEncode(randomBytes(10))}`;
}

function request(d) {
  const body = JSON.stringify({ pool: d.pool, user: d.user, count: d.count });
  return { method: 'POST', url: `${base()}${byPath ? `/pools/${d.pool}` : ''}/draw${byPath ? 's' : ''}`, body, params: params(drawToken, { 'Idempotency-Key': d.key }) };
}

function attempt(d) {
  const q = request(d);
  try {
    return http.request(q.method, q.url, q.body, q.params);
  } catch (e) {
    return { status: 0, error: reason(e) };
  }
}

// draw makes the draw d = {pool, user, count, key} and retries it with the same
// key until it is settled. It retries if the service is busy, the outcome is
// unknown or the connection is lost. It returns {outcome, body, status} with
// outcome won, sold-out, refused (any other answer) or unsettled.
export function draw(d) {
  return settle(d, attempt(d));
}

// together sends all draws at the same moment.
export function together(ds) {
  let first;
  try {
    first = http.batch(ds.map(request));
  } catch (e) {
    first = ds.map(() => ({ status: 0, error: reason(e) }));
  }
  return ds.map((d, i) => settle(d, first[i]));
}

function settle(d, r) {
  const since = Date.now();
  let heard = since;
  for (;;) {
    if (r.status !== 0) latency.add(r.timings.duration);
    if (r.status === 200) return won(d, r);
    if (r.status === 401 || r.status === 403) stop(`the draw token is refused (${r.status}): set DRAW_TOKEN`);
    if (r.status === 409 && codeOf(r) === 'sold-out') return { outcome: 'sold-out', status: 409 };
    if (r.status !== 0 && r.status !== 503 && r.status !== 504) return { outcome: 'refused', status: r.status, code: codeOf(r), text: r.body };
    const now = Date.now();
    if (r.status !== 0) heard = now;
    if (now - heard > 1000 * silenceMax) stop(`no instance has answered for ${silenceMax} s: ${r.error}`);
    if (now - since > 1000 * patience) {
      unexpected(`draw ${d.key} is not settled after ${patience} s: ${r.status} ${codeOf(r)}`);
      return { outcome: 'unsettled', status: r.status };
    }
    sleep(pause(r));
    r = attempt(d);
  }
}

// pause counts why a draw must be retried, and returns the seconds to wait
// before the retry.
function pause(r) {
  const jitter = 0.5 + Math.random();
  if (r.status === 503) {
    count('busy');
    const after = Number(r.headers['Retry-After']);
    if (!(after >= 0)) count('retry_after_missing');
    return Math.min(after || 0.1, 5) * jitter;
  }
  count(r.status === 504 ? 'outcome_unknown' : 'no_answer');
  return 0.2 * jitter;
}

function won(d, r) {
  let body;
  try {
    body = r.json();
  } catch (_) {
    body = {};
  }
  const right = body.draw === d.key && body.pool === d.pool && body.user === d.user
    && Array.isArray(body.awards) && body.awards.length === d.count;
  if (!right) {
    unexpected(`200 to draw ${d.key} with another draw's content: ${r.body}`);
    return { outcome: 'refused', status: 200 };
  }
  return { outcome: 'won', status: 200, body };
}

// same reports whether two answers describe the same draw.
export const same = (a, b) => facts(a) === facts(b);
const facts = (x) => JSON.stringify([x.draw, x.pool, x.user, x.awards.map((a) => [a.prize, a.name, a.value, a.unit, a.version, a.at])]);

// tally counts a settled draw, once per key. Refusals are unexpected.
export function tally(d, answer) {
  if (answer.outcome === 'won') {
    count('won');
    count('units_won', d.count);
    count('unaccounted', d.count); // account() subtracts the awards in the log
  } else if (answer.outcome === 'sold-out') {
    count('sold_out');
  } else if (answer.outcome === 'refused') {
    unexpected(`draw ${d.key}: ${answer.status} ${answer.code} ${answer.text}`);
  }
}
