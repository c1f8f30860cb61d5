package draw

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// memberOrder lists the members of a rules document in the order of their
// publication.
func memberOrder() []string {
	return []string{
		"win", "odds", "fallback", "guarantee", "limits", "budget", "zone", "tickets", "blocked", "disclose", "low",
	}
}

// partOrder is the order of the members within a member's objects.
func partOrder(member string) []string {
	return map[string][]string{
		"odds":      {"of", "prizes"},
		"guarantee": {"after", "prize"},
		"limits":    {"of", "prize", "max", "per"},
		"budget":    {"max", "per"},
		"low":       {"prize", "below"},
	}[member]
}

// arrange puts the members of a canonical document, whose members are all known,
// into their order.
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

// inOrder writes the members of an object in an order; each, where it is not nil,
// arranges a member's value.
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
