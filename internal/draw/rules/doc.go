// Package rules reads rules documents: their members and limits, their canonical form,
// and the time zones that their windows follow. The result is a [draw.Rules].
package rules
