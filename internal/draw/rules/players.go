package rules

import (
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// sight states how much players may know about a member of rules.
type sight int

const (
	sightNone sight = iota
	// sightHint means that players may know that the rules have the member, but not its
	// content.
	sightHint
	sightAll
)

// playersSee returns how much players may know about a member. Words and ForPlayers
// follow it. It must list every member that players may see: any other is hidden from
// them.
func playersSee(r *draw.Rules, member string) sight {
	switch member {
	case "fallback", "limits", "zone", "tickets", "claims":
		return sightAll
	case "blocked":
		return sightHint
	case "win", "odds", "budget":
		if r.Disclose || member == "win" && r.Win.IsOne() {
			return sightAll
		}
		return sightHint
	case "guarantee":
		if r.Disclose {
			return sightAll
		}
	}
	return sightNone
}

// ForPlayers returns the part of the document that players may read: the same that Words
// states for them. If they may know only that a member exists, its value is true. The
// result is null if this instance cannot read the rules, and {} without rules.
func ForPlayers(r *draw.Rules) (json.RawMessage, error) {
	switch {
	case r == nil:
		return json.RawMessage("{}"), nil
	case r.Unreadable() == nil:
		return documentForPlayers(r)
	}
	return json.RawMessage("null"), nil
}

func documentForPlayers(r *draw.Rules) (json.RawMessage, error) {
	document := jsontext.NewDecoder(strings.NewReader(r.Document()))
	if _, err := document.ReadToken(); err != nil {
		return nil, err
	}
	var shown []string
	for document.PeekKind() != '}' {
		token, err := document.ReadToken()
		if err != nil {
			return nil, err
		}
		member := token.String() // the value overwrites the token
		value, err := document.ReadValue()
		if err != nil {
			return nil, err
		}
		seen := playersSee(r, member)
		switch {
		case seen == sightNone, member == "blocked" && len(r.Blocked) == 0:
			continue
		case seen == sightHint:
			value = jsontext.Value("true")
		}
		shown = append(shown, `"`+member+`":`+string(value))
	}
	return json.RawMessage("{" + strings.Join(shown, ",") + "}"), nil
}
