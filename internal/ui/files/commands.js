// Command lines for pasting. Their parts are quoted for a shell.

import { base } from "./api.js";

/** Quotes words as one argument for a shell. */
const quoted = (words) => (/^[\w@%+=:,./-]+$/.test(words) ? words : `'${words.replaceAll("'", "'\\''")}'`);

/**
 * The address at which the files of a pool are published: under the host of its origin.
 * That is this service if the host is the same.
 */
function place(at) {
  const host = at.commitment.origin.slice(0, at.commitment.origin.lastIndexOf("/"));
  const [scheme, root] = host === base.host ? ["", service()] : ["https:", `//${host}`];
  return quoted(`${scheme}${root}/pools/${at.id}/proof`);
}

/** The address of this service. */
const service = () => base.href.replace(/\/$/, "");

const identity = "--seed-identity-file seed-identity";

/** The flags with which a command calls this service. */
const asked = () => `--server ${quoted(service())} --token-file token`;

export const commands = {
  commit: (at) => `drawsvc pool commit ${at.id} --origin ${quoted(base.host)} --seed-recipients seed-recipients`,
  open: (at, more) => `drawsvc pool open ${at.id} ${more} ${asked()}`,
  round: (c, round) => `curl -fsS ${c.rounds_url ?? "ADDRESS-OF-THE-BEACON/public/"}${round}`,
  publish: () => `drawsvc publish --dir /srv/proofs ${identity}`,
  export: (at) => `drawsvc pool export-proof --pool ${at.id} proof ${asked()}`,
  keep: (at) => ["key > key", at.commitment.checkpoint && "checkpoint > kept"].filter(Boolean).map((file) => `curl -fsS ${place(at)}/${file}`).join("\n"),
  verify: (at) => [
    "mkdir proof && cd proof",
    `for file in key commitment checkpoint reveal; do curl -fsS -o $file ${place(at)}/$file; done`,
    `curl -fsS -o log.jsonl ${place(at)}/log`,
    `drawsvc verify . --key ${quoted(at.commitment.key.trim())}`,
  ].join("\n"),
  receipt: (at, draw = "NAME-OF-THE-DRAW") => `drawsvc receipt verify answer.json --key ${quoted(at.commitment.key.trim())} --draw ${quoted(draw)} --user USER`,
};
