package rules

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// Read is [Parse] for a stored document. From a document that this binary cannot read,
// such as one of a later release, it makes rules that refuse every new draw: see
// [draw.Rules.Unreadable].
func Read(document []byte) *draw.Rules {
	r, err := parseRules(document, draw.RulesMax)
	if err != nil {
		return unreadableRules(document, err)
	}
	return r
}

// ReadOf reads the rules that a change puts in force, nil for none, as [Read] does. set
// is false for a change that does not affect rules.
func ReadOf(c *draw.Change) (r *draw.Rules, set bool) {
	if c.What != draw.WhatRules && c.What != draw.WhatCreated {
		return nil, false
	}
	var body map[string]jsontext.Value
	if err := json.Unmarshal([]byte(c.Body), &body); err != nil {
		return unreadableRules(nil, err), c.What == draw.WhatRules
	}
	document, set := body["rules"]
	if !set || document.Kind() == 'n' {
		return nil, set
	}
	return Read(document), true
}

// Of is ReadOf for callers that cannot continue without the rules. Error:
// CodeRulesUnreadable.
func Of(c *draw.Change) (r *draw.Rules, set bool, err error) {
	if r, set = ReadOf(c); r.Unreadable() != nil {
		return nil, set, draw.Unreadable("the rules of version %d", r.Unreadable(), c.Version)
	}
	return r, set, nil
}

// unreadableRules returns rules that have only their document, in canonical form, or {}
// if it is not a JSON object.
func unreadableRules(document []byte, why error) *draw.Rules {
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
	return draw.NewUnreadableRules(canonical, why, len(members.Budget) > 0)
}

// arrange sorts the members of a canonical document, which are all known.
func arrange(document *jsontext.Value) error {
	arranged, err := inOrder(*document, memberOrder(), func(member string, part jsontext.Value) (jsontext.Value, error) {
		order := partOrder(member)
		switch {
		case order == nil:
			return part, nil
		case part.Kind() == '{':
			return inOrder(part, order, nil)
		}
		var list []jsontext.Value
		if err := json.Unmarshal(part, &list); err != nil {
			return nil, err
		}
		for i := range list {
			var err error
			if list[i], err = inOrder(list[i], order, nil); err != nil {
				return nil, err
			}
		}
		return slices.Concat([]byte("["), bytes.Join(bytesOf(list), []byte(",")), []byte("]")), nil
	})
	*document = arranged
	return err
}

func bytesOf(list []jsontext.Value) [][]byte {
	all := make([][]byte, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return all
}

// inOrder writes the members of an object in the given order. The function each, unless
// it is nil, arranges the value of a member.
func inOrder(object jsontext.Value, order []string, each func(member string, part jsontext.Value) (jsontext.Value, error)) (jsontext.Value, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	arranged := []byte("{")
	for _, name := range order {
		part, there := members[name]
		if !there {
			continue
		}
		if each != nil {
			var err error
			if part, err = each(name, part); err != nil {
				return nil, err
			}
		}
		if len(arranged) > 1 {
			arranged = append(arranged, ',')
		}
		arranged = append(arranged, `"`+name+`":`...)
		arranged = append(arranged, part...)
	}
	return append(arranged, '}'), nil
}
