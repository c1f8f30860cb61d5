// The parts for campaigns: rules, states, and a count of the whole log.
import { sleep } from 'k6';
import { admin } from './requests.js';
import { awarded, count, stocked, unexpected } from './counts.js';
import { awardsOf, draws, read, tallyBy } from './account.js';
import { gate, patience } from './options.js';

// rule adds an endless blank and puts rules in force.
export function rule(poolID, blank, rules) {
  const made = admin('POST', `/admin/pools/${poolID}/prizes`, { id: blank, name: 'No win', kind: 'blank' });
  if (made.status !== 201) unexpected(`prize ${blank}: ${made.status} ${made.body}`);
  const set = admin('PUT', `/admin/pools/${poolID}/rules`, rules);
  if (set.status !== 200) unexpected(`rules: ${set.status} ${set.body}`);
}

// state pauses, opens or closes a pool.
export function state(poolID, to) {
  const r = admin('PATCH', `/admin/pools/${poolID}`, { state: to });
  if (r.status !== 200) unexpected(`pool to ${to}: ${r.status} ${r.body}`);
}

// isClosed reports whether a pool has ended.
export const isClosed = (poolID) => read(`/admin/pools/${poolID}`).json('state') === 'closed';

// usedUp waits until the counted users have drawn as often as they may. So a
// late draw is made before the pool is closed, even on a slow machine.
export function usedUp(poolID, draws, isCounted) {
  const until = Date.now() + 1000 * patience;
  const left = () => draws - awardsOf(poolID).filter((a) => isCounted(a.user)).length;
  while (left() > 0 && Date.now() < until) sleep(0.2);
  if (left() > 0) unexpected(`${left()} draws of counted users are missing`);
}

// logOf reads the whole log. The log of a textbook program has only awards.
function logOf(poolID) {
  if (gate === 'limits') return awardsOf(poolID).map((a) => Object.assign({ kind: 'award', win: true }, a));
  const body = read(`/admin/pools/${poolID}/log`, { Accept: 'application/x-ndjson' }).body;
  return body.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line));
}

// campaignAccount checks the log against the rules, which it has only from the
// script.
export function campaignAccount(poolID, { max, winsMax, blank, isCounted }) {
  const audit = read(`/admin/pools/${poolID}/audit`).json();
  const log = logOf(poolID);
  const awards = log.filter((e) => e.kind === 'award');
  count('audit_violations', audit.violations.length);
  for (const v of audit.violations.slice(0, 5)) console.error(`the audit reports ${JSON.stringify(v)}`);
  const counted = tallyBy(awards, (a) => a.prize);
  for (const p of audit.prizes.filter((x) => x.prize !== blank)) {
    const n = counted[p.prize] || 0;
    stocked.add(p.stocked, { prize: p.prize });
    awarded.add(n, { prize: p.prize });
    count('over_issued', Math.max(n - p.stocked, 0), { prize: p.prize });
    count('audit_disagrees', p.awards === n ? 0 : 1);
  }
  count('unaccounted', -awards.length);
  draws(awards);
  if (gate !== 'limits') history(audit, log);

  const of = tallyBy(awards.filter((a) => isCounted(a.user)), (a) => a.user);
  const wins = tallyBy(awards.filter((a) => a.prize !== blank), (a) => a.user);
  for (const n of Object.values(of)) {
    count('limit_passed', Math.max(n - max, 0));
    count('limit_unused', Math.max(max - n, 0));
  }
  for (const n of Object.values(wins)) count('wins_passed', Math.max(n - winsMax, 0));
  count('audits');
}

// history checks that versions are 1, 2, 3 …, that times never decrease, and
// that the log has no award while the pool was not open.
function history(audit, log) {
  let [isOpen, last, at] = [true, 0, ''];
  const states = [];
  for (const e of log) {
    if (e.version > last + 1) count('version_gaps', e.version - last - 1);
    if (e.version <= last || e.at < at) count('version_doubles');
    [last, at] = [e.version, e.at];
    if (e.kind === 'change' && e.what === 'state') {
      states.push(e.body.state);
      isOpen = e.body.state === 'open';
    }
    if (e.kind === 'award' && !isOpen) count('drew_while_closed');
  }
  count('audit_disagrees', audit.version === last ? 0 : 1);
  if (states.join() !== 'paused,open,closed') unexpected(`the log has other states: ${JSON.stringify(states)}`);
}
