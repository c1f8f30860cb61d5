package http

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/ui"
)

// fairPath is the path of the page of fairness.
const fairPath = "/fair/:pool"

// fairPrizesMax is the maximum number of prizes on a page of fairness.
const fairPrizesMax = 1000

// fairAnswer is the public answer about a pool whose operator has published its page of
// fairness. It has no counts, which would help a script to time its draws.
type fairAnswer struct {
	ID    string     `json:"id"`
	Name  string     `json:"name"`
	Text  string     `json:"text,omitempty"`
	State draw.State `json:"state"`
	// OpensAt is when the agenda next opens the pool, ClosesAt when it next pauses or
	// closes it; null for never.
	OpensAt  *string `json:"opens_at"`
	ClosesAt *string `json:"closes_at"`
	// Zone is the time zone of the rules.
	Zone     string `json:"zone"`
	Currency string `json:"currency,omitempty"`
	// Prizes are the prizes that can be won. More is how many of these are left out.
	Prizes []prizeAnswer `json:"prizes"`
	More   int           `json:"more"`
	// Words are the rules in words, as far as players may know them.
	Words []string `json:"words"`
	// Rules is the rules document, as far as players may know it, null if it cannot be read.
	// A member whose content they may not read has the value true. Names are the names of
	// the prizes in the document that are not in Prizes. Moments means that Words mention
	// winning moments.
	Rules   json.RawMessage   `json:"rules"`
	Names   map[string]string `json:"names"`
	Moments bool              `json:"moments"`
	// Odds are null if the rules do not disclose them, the pool has more than fairPrizesMax
	// prizes, or a draw would be refused now.
	Odds *api.Odds `json:"odds"`
	// Commitment is null for a pool with secret numbers.
	Commitment *fairCommitment `json:"commitment"`
}

// fairCommitment is the commitment of a pool.
type fairCommitment struct {
	Level string `json:"level"`
	Note  string `json:"note"`
	Key   string `json:"key"`
	// Revealed means that the seed is published: anybody can verify all draws.
	Revealed bool `json:"revealed"`
}

// encodeFair reads and encodes the answer for the page of fairness of a pool. A missing
// pool and a pool without such a page give the same answer.
func (s *Server) encodeFair(ctx context.Context, poolID string) ([]byte, error) {
	p, err := s.Store.Pool(ctx, poolID)
	if draw.CodeOf(err) == draw.CodePoolNotFound || err == nil && !p.IsFair {
		return nil, draw.Errorf(draw.CodeNotFound, "pool %q has no page of fairness", poolID)
	}
	if err != nil {
		return nil, err
	}
	a := fairAnswer{ID: p.ID, Name: p.Name, Text: p.Text, State: p.State, Currency: p.Currency, Prizes: []prizeAnswer{}}
	if a.OpensAt, a.ClosesAt, err = s.opening(ctx, &p); err != nil {
		return nil, err
	}
	names := make(map[string]string, len(p.Prizes))
	items := s.Catalogue()
	for i := range p.Prizes {
		shown := newPrize(&p.Prizes[i], items[p.Prizes[i].ID])
		names[shown.ID] = shown.Name
		switch {
		case !p.Prizes[i].IsWin():
		case len(a.Prizes) < fairPrizesMax:
			a.Prizes = append(a.Prizes, shown)
		default:
			a.More++
		}
	}
	if err := s.addRules(ctx, &a, &p, names); err != nil {
		return nil, err
	}
	if p.Committed != 0 {
		found, err := s.Store.Commitment(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		c := newCommitment(&found)
		a.Commitment = &fairCommitment{Level: c.Level, Note: c.Note, Key: c.Key, Revealed: c.Reveal != nil}
	}
	return encodeJSON(&a)
}

// quotedID finds every text in a document that may be the id of a prize, also names of
// members. A search for each prize would take seconds in a large pool.
var quotedID = regexp.MustCompile(`"([a-z0-9][a-z0-9._-]*)"`)

// addRules adds the rules of a pool in words, and the odds if the rules disclose them.
func (s *Server) addRules(ctx context.Context, a *fairAnswer, p *draw.Pool, names map[string]string) error {
	var inForce *draw.Rules
	if p.RulesVersion != 0 {
		ruling, err := s.Store.Rules(ctx, p.ID, p.RulesVersion)
		if err != nil {
			return err
		}
		inForce = ruling.Rules
	}
	a.Zone = "UTC"
	if inForce != nil && inForce.Zone != nil {
		a.Zone = inForce.Zone.String()
	}
	hadMoments, err := s.Store.HadMoments(ctx, p.ID)
	if err != nil {
		return err
	}
	a.Moments = hadMoments
	a.Words = rules.Words(inForce, rules.Telling{Name: rules.NamesIn(names), Currency: p.Currency, HasMoments: hadMoments, ToPlayers: true})
	if a.Rules, err = rules.ForPlayers(inForce); err != nil {
		return err
	}
	a.Names = map[string]string{}
	for _, found := range quotedID.FindAllSubmatch(a.Rules, -1) {
		if name, isPrize := names[string(found[1])]; isPrize {
			a.Names[string(found[1])] = name
		}
	}
	for i := range a.Prizes {
		delete(a.Names, a.Prizes[i].ID)
	}
	if inForce == nil || !inForce.Disclose || len(p.Prizes) > fairPrizesMax {
		return nil
	}
	found, err := s.Store.Odds(ctx, p.ID, "")
	if _, isRefused := api.ShowRefused(err); isRefused {
		return nil
	}
	if err == nil && found.IsDisclosed { // the rules may have changed since p was read
		a.Odds = new(api.ShowOdds(&found))
	}
	return err
}

// placeOfAnyone takes a place of the database for a read without a token. Before that it
// takes one of the few places that callers without a token share, so that such callers
// leave places to players.
func (c call) placeOfAnyone(ctx context.Context) (done func(), err error) {
	public := c.server.bounds.Public
	if err := public.Acquire(ctx, 1); err != nil {
		return nil, overloaded(err)
	}
	free, err := c.place(ctx)
	if err != nil {
		public.Release(1)
		return nil, err
	}
	return func() { free(); public.Release(1) }, nil
}

// fairFacts answers GET /fair/{pool}/facts.
func (s *Server) fairFacts(c call) error {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	facts, err := s.fair.Get(ctx, c.param("pool"), c.placeOfAnyone)
	if err != nil {
		return err
	}
	c.gin.Writer.Header()["Content-Type"] = s.headers.json
	c.writeOpenly(facts)
	return nil
}

// fairFiles returns the handler of GET /fair/-/{file}: no pool has the name "-".
func (s *Server) fairFiles() handler {
	return s.uiFile(func(c call) (string, bool) { return c.param("file"), slices.Contains(ui.FairFiles(), c.param("file")) })
}

// fairPage returns the handler of GET /fair/{pool}: the page, if the pool has one.
func (s *Server) fairPage() handler {
	show := s.uiFile(func(call) (string, bool) { return "fair.html", true })
	return func(c call) error {
		ctx, cancel := c.within(s.RequestTimeout)
		defer cancel()
		if _, err := s.fair.Get(ctx, c.param("pool"), c.placeOfAnyone); err != nil {
			return err
		}
		return show(c)
	}
}
