// The metrics. Each figure of a report and each threshold uses one of them.
import { Counter, Gauge, Trend } from 'k6/metrics';
import { gate } from './options.js';

const counters = {};
for (const name of ['won', 'units_won', 'sold_out', 'replays', 'replay_mismatch', 'busy', 'outcome_unknown', 'no_answer',
  'unexpected', 'retry_after_missing', 'over_issued', 'under_issued', 'unaccounted', 'version_gaps', 'version_doubles',
  'draw_doubles', 'audit_violations', 'audit_disagrees', 'audits', 'refused', 'switched', 'withdrawals_refused', 'readings', 'unfinished',
  'limit_passed', 'limit_unused', 'wins_passed', 'drew_while_closed']) {
  counters[name] = new Counter(name);
}
export const latency = new Trend('draw_latency', true);
export const stocked = new Gauge('stocked');
export const awarded = new Gauge('awarded');
export const oddsZ = new Gauge('odds_z');

// count adds n to a counter of the list above.
export const count = (name, n = 1, tags = {}) => counters[name].add(n, tags);

// whole wraps an iteration so that an unfinished iteration is noticed: a run
// that was stopped has no result.
export const whole = (iteration) => (data) => {
  count('unfinished');
  iteration(data);
  count('unfinished', -1);
};

const shouted = {};

// wrong counts something that must not happen, and each VU prints its first
// case.
function wrong(name, what) {
  count(name);
  if (!shouted[name]) console.error(`${name}: ${what}`);
  shouted[name] = true;
}

// unexpected counts an answer that the contract does not allow here.
export const unexpected = (what) => wrong('unexpected', what);

// differs counts two answers to one key that do not describe the same draw.
export const differs = (a, b) => wrong('replay_mismatch', `${JSON.stringify(a.body || a)} and ${JSON.stringify(b.body || b)}`);


// exactly is the threshold of a counter that has only one right value.
const exactly = (n) => [`count==${n}`];

// fewDropped is the threshold for the arrivals that k6 was too late to send: a
// few percent are allowed. With more, the load was not the one that the report
// states. All draws that were sent are judged.
export const fewDropped = (arrivals, percent) => [`count<=${Math.ceil((arrivals * percent) / 100)}`];

// thresholds returns the thresholds of every script. The thresholds with a tag
// make k6 keep figures for each prize, which the report prints.
export function thresholds(prizes, extra = {}) {
  const all = { over_issued: exactly(0), audits: exactly(1), unfinished: exactly(0) };
  if (gate === 'odds') all.odds_z = ['value<6'];
  if (gate === 'limits') all.limit_passed = exactly(0);
  if (gate === 'all') {
    for (const name of ['unexpected', 'retry_after_missing', 'replay_mismatch', 'unaccounted', 'version_gaps', 'version_doubles',
      'draw_doubles', 'audit_violations', 'audit_disagrees']) {
      all[name] = exactly(0);
    }
    Object.assign(all, extra);
  }
  for (const { id } of prizes) {
    all[`over_issued{prize:${id}}`] = exactly(0);
    all[`stocked{prize:${id}}`] = ['value>=0'];
    all[`awarded{prize:${id}}`] = ['value>=0'];
  }
  return all;
}
