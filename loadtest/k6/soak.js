// Soak: draws at a constant rate for any length of time. The script reads the
// memory, goroutines and open files (which are connections) of each instance
// from /metrics. These must not grow.
import exec from 'k6/execution';
import { Gauge } from 'k6/metrics';
import { sleep } from 'k6';
import * as lib from './lib.js';

const pool = lib.pool('soak', '100000,900000,9000000');
const rate = lib.number('RATE', 200, 1); // draws per second
const seconds = lib.number('SECONDS', 600, 8);
const vusMax = lib.number('VUS_MAX', 500, 1);
const every = lib.number('EVERY', 2, 1); // seconds between two readings
const growthMax = lib.number('GROWTH_PERCENT', 20, 1); // maximum growth in percent from the second quarter of the run to the last
const dropped = lib.number('DROPPED_PERCENT', 1); // arrivals that k6 may be too late to send
const watched = {
  // the metric, and the growth that is always allowed
  memory: ['process_resident_memory_bytes', 32 * 1024 * 1024],
  goroutines: ['go_goroutines', 100],
  open_files: ['process_open_fds', 50],
};
const growth = {};
for (const name of Object.keys(watched)) growth[name] = new Gauge(`growth_${name}`);
const flat = { readings: [`count>=${4 * lib.bases.length}`] };
for (const name of Object.keys(watched)) flat[`growth_${name}`] = [`value<=${growthMax}`];

export const options = Object.assign({}, lib.settings, {
  scenarios: {
    draws: {
      executor: 'constant-arrival-rate', rate, duration: `${seconds}s`, preAllocatedVUs: Math.min(Math.max(rate, 20), vusMax), maxVUs: vusMax, gracefulStop: '1m', exec: 'draws',
    },
    watch: { executor: 'per-vu-iterations', vus: 1, iterations: 1, maxDuration: `${seconds + 60}s`, exec: 'watch' },
  },
  thresholds: lib.thresholds(pool.prizes, Object.assign({ sold_out: ['count==0'], dropped_iterations: lib.fewDropped(rate * seconds, dropped) }, flat)),
});

export function setup() {
  return lib.open(pool);
}

function drawOnce(data) {
  const i = exec.scenario.iterationInTest;
  const d = { pool: data.pool, user: `user-${i % 5000}`, count: 1, key: lib.newKey() };
  lib.tally(d, lib.draw(d));
}

// watchAll reads each instance until the draws end, and compares two quarters
// of the run. The first quarter is the warm-up.
function watchAll() {
  const seen = lib.bases.map(() => []);
  const until = Date.now() + 1000 * (seconds - 1);
  while (Date.now() < until || seen[0].length < 4) { // quarters need at least four readings, even on a slow machine
    lib.bases.forEach((at, k) => seen[k].push(reading(at)));
    sleep(every);
  }
  for (const [name, [, slack]] of Object.entries(watched)) {
    growth[name].add(Math.max(...seen.map((list) => grown(list.map((r) => r[name]), slack))));
  }
}

function reading(at) {
  const r = lib.admin('GET', '/metrics', null, {}, at);
  const out = {};
  for (const [name, [metric]] of Object.entries(watched)) {
    const found = new RegExp(`^${metric} ([0-9.e+]+)$`, 'm').exec(r.body);
    if (found === null) lib.stop(`${at}/metrics (${r.status}) has no ${metric}`);
    out[name] = Number(found[1]);
  }
  lib.count('readings');
  return out;
}

// grown returns the growth in percent from the second quarter to the last, 0 if
// the growth is within the slack.
function grown(list, slack) {
  const quarter = Math.floor(list.length / 4);
  const mean = (part) => part.reduce((n, x) => n + x, 0) / part.length;
  const before = mean(list.slice(quarter, 2 * quarter));
  const now = mean(list.slice(-quarter));
  return now - before <= slack ? 0 : (100 * (now - before)) / before;
}

export function teardown(data) {
  lib.account(data.pool);
}

export const draws = lib.whole(drawOnce);
export const watch = lib.whole(watchAll);
export const handleSummary = lib.report('soak', (data) => [
  Object.keys(watched).map((name) => `${name} grew ${lib.figure(data, `growth_${name}`, 'value').toFixed(0)} %`).join(', '),
]);
