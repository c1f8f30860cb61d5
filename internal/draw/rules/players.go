package rules

import (
	"encoding/json"

	"drawsvc/internal/draw"
)

// playersDocument has the members of a document that players may know of, in order.
type playersDocument struct {
	Win       json.RawMessage `json:"win,omitempty"`
	Odds      json.RawMessage `json:"odds,omitempty"`
	Fallback  json.RawMessage `json:"fallback,omitempty"`
	Guarantee json.RawMessage `json:"guarantee,omitempty"`
	Limits    json.RawMessage `json:"limits,omitempty"`
	Budget    json.RawMessage `json:"budget,omitempty"`
	Zone      json.RawMessage `json:"zone,omitempty"`
	Tickets   json.RawMessage `json:"tickets,omitempty"`
	Blocked   json.RawMessage `json:"blocked,omitempty"`
	Claims    json.RawMessage `json:"claims,omitempty"`
}

// ForPlayers returns the document with what players may read, which is what Words
// states for them. A member whose content they may not read is true. The result is null
// if this instance cannot read the rules, and {} without rules.
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
	var d playersDocument
	if err := json.Unmarshal([]byte(r.Document()), &d); err != nil {
		return nil, err
	}
	if len(r.Blocked) == 0 {
		d.Blocked = nil
	}
	hidden := []*json.RawMessage{&d.Blocked}
	if !r.Disclose {
		d.Guarantee = nil
		hidden = append(hidden, &d.Odds, &d.Budget)
		if !r.Win.IsOne() {
			hidden = append(hidden, &d.Win)
		}
	}
	for _, member := range hidden {
		if len(*member) > 0 {
			*member = json.RawMessage("true")
		}
	}
	return json.Marshal(&d)
}
