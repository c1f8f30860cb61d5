// The only module that the scripts import. A script fails because a threshold
// is crossed (k6's exit code 99). If it makes no sense to continue, it fails by
// stop(), with one line (exit code 108). Its report has a result only if the
// final count was made.
export * from './lib/options.js';
export * from './lib/counts.js';
export * from './lib/requests.js';
export * from './lib/account.js';
export * from './lib/campaign.js';
export * from './lib/report.js';
