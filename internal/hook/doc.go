// Package hook sends the events of pools to receivers. It derives events from a pool's
// history and from the steps of its awards. It puts events into messages, signs and sends
// them, and moves each cursor after the receiver has accepted a message.
//
// History and steps are the outbox: the relay reads both in one snapshot, after a durable
// cursor, so nothing is lost while a receiver is down. Draws are not affected: hooks
// write nothing before the commit of a draw, and lock no row that draws use. If two
// relays run at once, messages may be sent twice. None is left out, because a cursor
// moves by compare-and-set, and only after the answer.
package hook
