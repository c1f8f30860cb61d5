// Options of the scripts, all through the environment (k6 run -e NAME=VALUE).
import exec from 'k6/execution';

// stop ends the whole run with one line and k6's exit code 108.
export function stop(line) {
  exec.test.abort(line);
}

export const given = [];

// text reads an option; its value and whether it is the default are printed.
export function text(name, fallback) {
  const set = __ENV[name] !== undefined && __ENV[name] !== '';
  const value = set ? __ENV[name] : fallback;
  const shown = name.endsWith('_TOKEN') ? (set ? '(set)' : '(none)') : value === '' ? '(none)' : value;
  given.push(`${name}=${shown}${set ? '' : ' (default)'}`);
  return value;
}

// number reads an option that is a whole number of at least least.
export function number(name, fallback, least = 0) {
  const value = Number(text(name, String(fallback)));
  if (!Number.isInteger(value) || value < least) stop(`${name} must be a whole number, ${least} or more`);
  return value;
}

// prizesOf turns "1,9,90" into prizes.
function prizesOf(list) {
  const stocks = list.split(',').map(Number);
  if (stocks.length > 200 || stocks.some((n) => !Number.isInteger(n) || n < 0)) {
    stop('STOCK must be a comma separated list of whole numbers, at most 200 of them');
  }
  return stocks.map((stock, i) => ({ id: `prize-${i + 1}`, name: `Prize ${i + 1}`, value: '1.50', stock }));
}

export const bases = text('BASE_URL', 'http://127.0.0.1:8080').split(',').map((s) => s.trim().replace(/\/+$/, ''));
if (bases.some((b) => !/^https?:\/\/[^/]+/.test(b))) stop('BASE_URL must be one or more of http://HOST:PORT, comma separated');
// admins are the addresses for operators, where the public ones do not pass on their calls.
export const admins = text('ADMIN_URL', bases.join()).split(',').map((s) => s.trim().replace(/\/+$/, ''));
// byPath sends draws to /pools/{pool}/draws instead of /draw.
export const byPath = text('BY_PATH', '') === 'true';
export const adminToken = text('ADMIN_TOKEN', '');
export const drawToken = text('DRAW_TOKEN', '');
export const patience = number('PATIENCE', 30, 1); // seconds that a draw may be answered busy
export const silenceMax = number('SILENCE_MAX', 10, 1); // seconds without any answer after which the service counts as dead
export const summaryFile = text('SUMMARY', '');
// gate all checks everything; over-issue only what the textbook programs
// promise; odds that and the law of a draw; limits that and those of users.
export const gate = text('GATE', 'all');
if (!['all', 'over-issue', 'odds', 'limits'].includes(gate)) stop('GATE must be all, over-issue, odds or limits');
const stamp = new Date().toISOString().replace(/[^0-9]/g, '').slice(2, 14);

// pool reads the options of the pool that a script makes for itself. Other VUs
// read the name from setup's data: they start at other times.
export function pool(title, stock) {
  return { id: text('POOL', `${title}-${stamp}`), mode: text('MODE', ''), prizes: prizesOf(text('STOCK', stock)) };
}

// settings are those of k6 that every script needs.
export const settings = {
  throw: true, // a lost connection is handled here, not logged by k6
  setupTimeout: '2m',
  teardownTimeout: '10m',
  summaryTrendStats: ['min', 'med', 'p(95)', 'p(99)', 'max'],
};
