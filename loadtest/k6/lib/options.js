// Options of the scripts. All are environment variables (k6 run -e NAME=VALUE).
import exec from 'k6/execution';

// stop ends the whole run with one line and k6's exit code 108.
export function stop(line) {
  exec.test.abort(line);
}

export const given = [];

// text reads an option. The run prints its value, and whether that is the
// default.
export function text(name, fallback) {
  const set = __ENV[name] !== undefined && __ENV[name] !== '';
  const value = set ? __ENV[name] : fallback;
  const shown = name.endsWith('_TOKEN') ? (set ? '(set)' : '(none)') : value === '' ? '(none)' : value;
  given.push(`${name}=${shown}${set ? '' : ' (default)'}`);
  return value;
}

// number reads an option that is a whole number, at least the parameter least.
export function number(name, fallback, least = 0) {
  const value = Number(text(name, String(fallback)));
  if (!Number.isInteger(value) || value < least) stop(`${name} must be a whole number, ${least} or more`);
  return value;
}

// prizesOf returns prizes with the stocks of a list such as "1,9,90".
function prizesOf(list) {
  const stocks = list.split(',').map(Number);
  if (stocks.length > 200 || stocks.some((n) => !Number.isInteger(n) || n < 0)) {
    stop('STOCK must be a comma separated list of whole numbers, at most 200 of them');
  }
  return stocks.map((stock, i) => ({ id: `prize-${i + 1}`, name: `Prize ${i + 1}`, value: '1.50', stock }));
}

export const bases = text('BASE_URL', 'http://127.0.0.1:8080').split(',').map((s) => s.trim().replace(/\/+$/, ''));
if (bases.some((b) => !/^https?:\/\/[^/]+/.test(b))) stop('BASE_URL must be one or more of http://HOST:PORT, comma separated');
// admins are the addresses for operators' calls, if the public addresses do not
// pass these on.
export const admins = text('ADMIN_URL', bases.join()).split(',').map((s) => s.trim().replace(/\/+$/, ''));
// byPath sends draws to /pools/{pool}/draws instead of /draw.
export const byPath = text('BY_PATH', '') === 'true';
export const adminToken = text('ADMIN_TOKEN', '');
export const drawToken = text('DRAW_TOKEN', '');
export const patience = number('PATIENCE', 30, 1); // maximum time in seconds for which a draw may remain unsettled
export const silenceMax = number('SILENCE_MAX', 10, 1); // the run ends after this number of seconds without any answer
export const summaryFile = text('SUMMARY', '');
// gate selects the checks. "over-issue" checks only the promise of the textbook
// programs, that stock is not exceeded. "odds" adds the law of a draw, and
// "limits" adds users' limits. "all" checks everything.
export const gate = text('GATE', 'all');
if (!['all', 'over-issue', 'odds', 'limits'].includes(gate)) stop('GATE must be all, over-issue, odds or limits');
const stamp = new Date().toISOString().replace(/[^0-9]/g, '').slice(2, 14);

// pool reads the options of the pool that a script creates. VUs must read the
// pool's name from setup's data, because the default name contains the time and
// each VU starts at a different time.
export function pool(title, stock) {
  return { id: text('POOL', `${title}-${stamp}`), mode: text('MODE', ''), prizes: prizesOf(text('STOCK', stock)) };
}

// settings are the settings of k6 that every script needs.
export const settings = {
  throw: true, // a lost connection is handled here, not logged by k6
  setupTimeout: '2m',
  teardownTimeout: '10m',
  summaryTrendStats: ['min', 'med', 'p(95)', 'p(99)', 'max'],
};
