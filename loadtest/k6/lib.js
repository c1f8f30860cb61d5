// The one module that the scripts import. A script fails by a threshold (k6's
// exit code 99) or, where going on makes no sense, by stop() with one line
// (exit code 108); its report is green only when the closing account was made.
export * from './lib/options.js';
export * from './lib/counts.js';
export * from './lib/requests.js';
export * from './lib/account.js';
export * from './lib/campaign.js';
export * from './lib/report.js';
