package draw

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ReadRules is [ParseRules] for a document that is stored. A document that this
// binary cannot read, such as one of a later release, becomes rules that refuse every
// new draw: see [Rules.Unreadable].
func ReadRules(document []byte) *Rules {
	r, err := ParseRules(document)
	if err != nil {
		return unreadableRules(document, err)
	}
	return r
}

// ReadRulesOf reads the rules that a change puts in force, nil for none, as
// [ReadRules] does. set is false for a change that leaves rules alone.
func ReadRulesOf(c *Change) (r *Rules, set bool) {
	if c.What != WhatRules && c.What != WhatCreated {
		return nil, false
	}
	var body map[string]jsontext.Value
	if err := json.Unmarshal([]byte(c.Body), &body); err != nil {
		return unreadableRules(nil, err), c.What == WhatRules
	}
	document, set := body["rules"]
	if !set || document.Kind() == 'n' {
		return nil, set
	}
	return ReadRules(document), true
}

// RulesOf is ReadRulesOf for callers that cannot go on without the rules. Error:
// CodeRulesUnreadable.
func RulesOf(c *Change) (r *Rules, set bool, err error) {
	if r, set = ReadRulesOf(c); r.Unreadable() != nil {
		return nil, set, Unreadable("the rules of version %d", r.Unreadable(), c.Version)
	}
	return r, set, nil
}

// unreadableRules are rules of which only the document is known, as far as it is JSON.
func unreadableRules(document []byte, why error) *Rules {
	canonical := jsontext.Value(bytes.Clone(document))
	if canonical.Kind() != '{' || canonical.Canonicalize() != nil {
		canonical = jsontext.Value("{}")
	}
	if arranged := bytes.Clone(canonical); arrange((*jsontext.Value)(&arranged)) == nil && len(arranged) == len(canonical) {
		canonical = arranged // all members are known
	}
	var members struct {
		Budget jsontext.Value `json:"budget"`
	}
	_ = json.Unmarshal(canonical, &members) // it is an object
	return &Rules{
		Win: Fraction{A: 1, B: 1}, Zone: time.UTC, document: canonical, digest: sha256.Sum256(canonical),
		unreadable: why, statesBudget: len(members.Budget) > 0,
	}
}

// Unreadable returns why this binary cannot read the rules, nil for rules that it has
// read. Unreadable rules have a document, and count and withhold nothing.
func (r *Rules) Unreadable() error {
	if r == nil {
		return nil
	}
	return r.unreadable
}

// HasBudget reports whether the rules have a budget, also where nothing else of them
// can be read.
func (r *Rules) HasBudget() bool { return r != nil && (r.Budget != nil || r.statesBudget) }

// Unreadable is the error of something stored of a pool that this binary cannot read:
// rules, a planned item, a commitment, a change. Its code is CodeRulesUnreadable
// whatever the code of why.
func Unreadable(what string, why error, args ...any) *Error {
	e := Errorf(CodeRulesUnreadable, what+" cannot be read by this instance: written by another release, or damaged", args...)
	e.Err = errors.New(DetailOf(why)) // the code of the cause would be the caller's
	return e
}
