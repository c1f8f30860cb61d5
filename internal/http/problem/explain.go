package problem

import (
	"maps"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Explanation is the part of the answer to GET /problems/{code} that is not in the
// table of problems: the meaning of the code, and what to do.
type Explanation struct{ Meaning, Remedy string }

// The remedies that several codes share.
const (
	remedyCorrect = "Correct the request. Repeated as it is, it gets the same answer."
	remedyRetry   = "Wait for Retry-After, then send the same request again, a draw with the same Idempotency-Key."
	remedyName    = "Check the spelling, and that the request goes to the right deployment."
)

// Explanations has a line for each code of the table of problems.
func Explanations() map[draw.Code]Explanation {
	all := map[draw.Code]Explanation{
		draw.CodeInvalidRequest: {
			"A member, a parameter or a header is missing, unknown or out of its range. The detail says which and why.", remedyCorrect},
		CodeUnauthorized: {
			"The call needs a bearer token. It came without one, or with one that is wrong or expired.",
			"Send Authorization: Bearer TOKEN with a token that the service knows."},
		draw.CodeForbidden: {
			"The role of the token does not allow the call, a demo was called by a page of another site, or a client certificate is missing.",
			"Use a token of the role that the detail names, show the client certificate that is demanded, or have an administrator make the call."},
		draw.CodePoolNotFound:  {"There is no pool of this id.", remedyName},
		draw.CodePrizeNotFound: {"The pool has no prize of this id.", remedyName},
		draw.CodeDrawNotFound: {
			"No draw of this name has won in the pool. A draw that was refused is not recorded.",
			"To settle a draw whose response was lost, send POST /draw again with the same Idempotency-Key."},
		draw.CodeJobNotFound:  {"There is no job of this name.", remedyName},
		draw.CodeHookNotFound: {"No hook has this id.", remedyName},
		draw.CodeAgendaDone:   {"The item was done: it is in the history of the pool.", "Make the opposite change, which is an entry of its own."},
		draw.CodeTicketRequired: {"The rules of the pool ask for a ticket, and the draw came without one.",
			"Get a ticket from its issuer, and send it as the member ticket."},
		draw.CodeTicketInvalid: {"The ticket is not genuine, its key is unknown to the service, it is not valid yet, or a claim is wrong.",
			"Send the ticket as it was issued. The issuer's keys must be in --ticket-keys."},
		draw.CodeTicketExpired: {"The ticket has expired. A draw that it has made before is still answered.", "Get a new ticket."},
		draw.CodeLimitReached: {"The user has drawn as often as the rules grant. limit says which, retry_at from when on he may draw.",
			"Tell the user. The same key may win later."},
		draw.CodeUserBlocked:    {"The rules of the pool block the user.", "Tell the user. An administrator changes the rules."},
		draw.CodeUserNotCounted: {"The rules of the pool have no limit of draws or wins, so that nothing of users is counted.", "Read the awards of the pool."},
		draw.CodeRulesChanged: {"The rules are of another version than If-Match names: somebody else has changed them.",
			"Read the rules again, and decide anew with their ETag."},
		draw.CodeNotFound: {"The path names nothing that is there: no call, or no rules, item of an agenda or published file of the pool.",
			remedyName + " GET /openapi.yaml lists all calls."},
		CodeMethodNotAllowed: {"The path exists, but not with this method.", "Use a method that the Allow header lists."},
		CodeNotAcceptable:    {"The Accept header excludes every media type that the call answers with. Nothing happened by this request.", "Accept application/json, or what the detail names."},
		CodeRequestTimeout:   {"The body of the request came too slowly. Nothing happened by this request.", "Send the request again, over a better connection."},
		draw.CodeSoldOut:     {"The pool holds fewer units than the draw asks for. Nothing was issued.", "Tell the user. The same key may win after a restock."},
		draw.CodePoolNotOpen: {"The pool is paused or closed, or it has never held a unit.", "Try again when the pool is open. An administrator opens and stocks it."},
		draw.CodePaused:      {"The pool is paused for a while, and opens again. Nothing happened by this request. notice, where it is there, is for the player.", remedyRetry},
		draw.CodePoolClosed:  {"The pool is closed, which is final: its stock, prizes, rules, mode and agenda stay as they are.", "Create a new pool."},
		draw.CodePoolOpen: {"Only a closed pool can be archived or its seed revealed, and only a paused one committed. " +
			"With a beacon, stock, rules and values can change only while the pool is paused.",
			"Pause the pool first. Or close it, which is final."},
		draw.CodeAlreadyIssued: {"Units were issued, so the pool stays and the prize keeps its name and value.",
			"Close and archive the pool, or add another prize."},
		draw.CodePoolExists:  {"There is a pool of this id already.", "Read the pool: an earlier attempt may have made it. Or choose another id."},
		draw.CodePrizeExists: {"The pool has a prize of this id already.", "Read the pool: an earlier attempt may have added it. Or choose another id."},
		draw.CodeStockBelowIssued: {"The withdrawal would leave fewer units than were issued.",
			"Read the pool and withdraw at most what remains."},
		draw.CodeCodesMissing: {"The prize has codes, and would have more units than codes, or the reserve has fewer than are to be dropped.",
			"Import codes, or move less stock: the pool shows the places and the reserve of the prize."},
		draw.CodePrizeHasNoCodes: {"The prize was made without codes, which never changes.", "Add another prize with codes."},
		draw.CodeJobRunning:      {"A run of the job is under way.", "Wait for its end, which GET /admin/jobs/{job} shows."},
		draw.CodeChangedMeanwhile: {"The pool is at another revision than If-Match names: somebody else has changed it.",
			"Read the pool again, and decide anew with its ETag."},
		api.CodeBodyTooLarge:     {"The body is larger than the call takes.", "Send less at once: a file in parts, or with the command line."},
		CodeUnsupportedMediaType: {"The body is of another type than the call takes, not in UTF-8, or encoded.", "Send the Content-Type that the detail names."},
		draw.CodeKeyReused: {"The Idempotency-Key was used with other content. Nothing happened by this request.",
			"Send the first request as it was, or choose a new key for a new request."},
		CodeTooManyGuesses:        {"The token is wrong, and too many wrong ones came from this address.", "Send the right token. It is let in at once."},
		draw.CodeInternal:         {"The service failed. On draws the outcome is unknown.", "Retry a draw with the same Idempotency-Key. Report X-Request-Id: the log has the cause."},
		draw.CodeContended:        {"The pool is busy and the attempts to decide are spent. Nothing happened by this request.", remedyRetry},
		draw.CodeOverloaded:       {"The pool cannot decide the draw in time, or too many calls of this kind are at work. Nothing happened by this request.", remedyRetry},
		draw.CodeStoreUnavailable: {"The database does not answer, or does not take writes. Nothing happened by this request.", remedyRetry},
		draw.CodeLockUnavailable:  {"The lock service does not answer. Nothing happened by this request.", remedyRetry},
		draw.CodeDraining:         {"This instance is shutting down. Nothing happened by this request.", remedyRetry + " Another instance will answer."},
		draw.CodeOutcomeUnknown: {"The deadline came while the request was being decided, or it cannot be known whether its key has drawn before. It may have happened.",
			"Retry with the same Idempotency-Key until there is an answer: it happens once at most. Without a key, read before you repeat."},
	}
	maps.Copy(all, explanationsOfLives())
	maps.Copy(all, explanationsOfCommitted())
	return all
}

// explanationsOfLives returns the lines about the life of awards.
func explanationsOfLives() map[draw.Code]Explanation {
	return map[draw.Code]Explanation{
		draw.CodeAwardNotFound: {"The pool has no award of this version, or the draw has no such award.", "Read the awards of the pool."},
		draw.CodeCodeShown: {"The code of the award may have been seen, so that its unit cannot return to stock.",
			"Void the award without return."},
		draw.CodeCodeNotOpen:       {"The award has to be claimed before its code is shown.", "Claim the award first."},
		draw.CodeClaimExpired:      {"The time to claim the award has passed.", "Tell the user. Longer rules help only awards that are not ended yet."},
		draw.CodeNothingToClaim:    {"The award needs no claim, or it is a blank.", "Read the draw: needs_claim says which awards need one."},
		draw.CodeAwardEnded:        {"The award is expired or voided, which is final. state and since say which.", "Read the award and its steps."},
		draw.CodeAwardNotFulfilled: {"Only a fulfilled award can be reopened.", "Read the award and its steps."},
	}
}

// explanationsOfCommitted returns the explanations for committed pools.
func explanationsOfCommitted() map[draw.Code]Explanation {
	return map[draw.Code]Explanation{
		draw.CodeRoundNotAnnounced: {"A pool with a beacon opens with the round that was announced before it was there, and with no other.",
			"Read the pool: `opening` shows the round. Where it is left out, PATCH state open without a round announces one."},
		draw.CodePoolCommitted: {"The pool is committed to its numbers permanently.", "Close the pool, and go on in a new one."},
		draw.CodeSeedsSpent: {"The pool has used all seeds that it was committed to. Nothing was issued.",
			"Close the pool, reveal its seed, and go on in a new pool."},
		draw.CodeLogForked: {"The rows of the pool are not those that were signed: they were changed, or a failover lost versions. Nothing was signed.",
			"Keep what was published, and find out what happened: docs/runbook.md has the steps of DrawsvcLogFork."},
		draw.CodeFeedForked: {"A pool has lost versions that were in the feed over all pools, by a restore or a failover: `pool`, and `version`, the last one that it has in common.",
			"Find out what the lost awards mean for those who acted on them. Then call again with `accept=fork`: awards after that version may come again."},
		draw.CodeSeedUnavailable: {"The pool's numbers are committed, and this instance cannot unseal their seed. Nothing happened by this request.",
			remedyRetry + " Another instance may have the identity. --seed-identity-file names it."},
		draw.CodeSealKeyMissing: {"The pool has codes, or a hook has a secret, and this instance has no seal key that opens them. Nothing happened by this request; a known key has its award.",
			remedyRetry + " Another instance may have the key. --seal-keys names its file."},
		draw.CodeClockLeapt: {"The database's clock has leapt, and the pool has rules or an agenda, which go by time. Nothing happened by this request.",
			remedyRetry + " Draws go on when the clock is right, or after five minutes. An operator who knows that it is right accepts it: drawsvc clock accept."},
		draw.CodeRulesUnreadable: {"This instance cannot read what is stored of the pool, such as its rules, a planned item that is due or its commitment. Another release may have written it, or it is damaged. Nothing happened by this request.",
			remedyRetry + " An operator runs one release on all instances, or replaces the rules, or removes the item: drawsvc doctor names them."},
	}
}
