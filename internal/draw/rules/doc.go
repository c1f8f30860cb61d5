// Package rules reads the language of rules documents: their members and limits, their
// canonical form, and the time zones that their windows follow. What was read is a
// [draw.Rules].
package rules
