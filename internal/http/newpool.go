package http

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// poolBody is the body of POST /admin/pools.
type poolBody struct {
	ID     string       `json:"id"`
	Name   string       `json:"name"`
	Mode   *string      `json:"mode"`
	State  *draw.State  `json:"state"`
	Prizes *[]prizeBody `json:"prizes"`
	// Rules are a rules document, as it was sent.
	Rules jsontext.Value `json:"rules,omitzero"`
}

// prizeBody is one prize of a new pool, and the body of POST …/prizes.
type prizeBody struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	Value *string `json:"value"`
	Kind  *string `json:"kind"`
	// Stock may be left out for a blank, which is then endless.
	Stock *int64 `json:"stock,omitzero"`
}

func (b *prizeBody) prize() (draw.Prize, error) {
	p := draw.Prize{ID: b.ID, Name: b.Name, Kind: draw.KindPrize}
	if b.Kind != nil {
		if p.Kind = draw.Kind(*b.Kind); p.Kind == "" {
			return p, draw.Errorf(draw.CodeInvalidRequest, "kind of prize %q is empty", b.ID)
		}
	}
	switch {
	case b.Stock != nil:
		p.Stocked = *b.Stock
	case p.Kind == draw.KindBlank:
		p.Stocked = draw.EndlessStock
	}
	if b.Value != nil {
		if *b.Value == "" {
			return p, draw.Errorf(draw.CodeInvalidRequest, "value of prize %q is empty", b.ID)
		}
		value, err := draw.ParseValue(*b.Value)
		if err != nil {
			return p, err
		}
		p.Value = value
	}
	return p, p.Check()
}

// pool is the pool that the body describes; its mode is not checked.
func (b *poolBody) pool() (draw.Pool, error) {
	p := draw.Pool{ID: b.ID, Name: b.Name, State: draw.StateOpen}
	if b.Mode != nil {
		p.Mode = *b.Mode
	}
	if b.State != nil {
		p.State = *b.State
	}
	if b.Prizes == nil {
		return p, draw.Errorf(draw.CodeInvalidRequest, "prizes is missing")
	}
	p.Prizes = make([]draw.Prize, len(*b.Prizes))
	for i := range *b.Prizes {
		var err error
		if p.Prizes[i], err = (*b.Prizes)[i].prize(); err != nil {
			return p, err
		}
	}
	if err := cmp.Or(p.Check(), draw.CheckStart(p.State)); err != nil {
		return p, err
	}
	if len(b.Rules) == 0 || b.Rules.Kind() == 'n' {
		return p, nil
	}
	var err error
	if p.Rules, err = draw.ParseRules(b.Rules); err != nil {
		return p, err
	}
	return p, p.Rules.Check(p.Prizes)
}
