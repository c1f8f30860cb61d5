package proof

import (
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// Scribe writes the lines of a pool's log from the entries of its history.
type Scribe struct {
	salts  Salts
	read   func() ([]draw.Prize, error)
	prizes map[string]*draw.Prize // nil until one is needed
	added  map[string]bool
	rules  *draw.Rules
	tagger *tagger
	line   Line // of an award
}

// NewScribe returns a scribe before the first entry. prizes reads the prizes of the pool,
// with their original names and values. It is called once, for the first line that needs
// a prize. Lines of awards need none.
func NewScribe(salts Salts, prizes func() ([]draw.Prize, error)) *Scribe {
	return &Scribe{salts: salts, tagger: salts.tagger(), read: prizes, added: map[string]bool{}}
}

// prize returns the prize with an id, for the entry of a version. Errors: those of
// reading, and CodeRulesUnreadable if there is no such prize.
func (s *Scribe) prize(id string, version int64) (*draw.Prize, error) {
	if s.prizes == nil {
		prizes, err := s.read()
		if err != nil {
			return nil, err
		}
		s.prizes = make(map[string]*draw.Prize, len(prizes))
		for _, p := range prizes {
			s.prizes[p.ID] = &p
		}
	}
	if p := s.prizes[id]; p != nil {
		return p, nil
	}
	return nil, draw.Unreadable("the entry of version %d", fmt.Errorf("the pool has no prize %q", id), version)
}

// Lines yields the lines of entries. The entries must be in order of version, beginning
// with the first one. Several calls may share the entries, but all awards of a draw must
// be in one call. A line is valid until the next one. The sequence ends after its first
// error: that of the entries, or CodeRulesUnreadable for an entry that has no line.
func (s *Scribe) Lines(entries iter.Seq2[draw.Entry, error]) iter.Seq2[*Line, error] {
	return func(yield func(*Line, error) bool) {
		var held []draw.Award // the awards of one draw, until all of them are read
		flush := func() bool {
			if len(held) == 0 {
				return true
			}
			more := s.tagger.lines(&s.line, s.tagger.sum("", held[0].DrawID), held, s.rules, func() bool { return yield(&s.line, nil) })
			held = held[:0]
			return more
		}
		for e, err := range entries {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(held) > 0 && (e.Award == nil || e.Award.DrawID != held[0].DrawID) && !flush() {
				return
			}
			if e.Award != nil {
				held = append(held, *e.Award)
				if r := e.Award.Redirect; r != nil { // a redirect is valid only until the next entry
					own := *r
					held[len(held)-1].Redirect = &own
				}
				continue
			}
			line, err := s.other(e)
			if !yield(line, err) || err != nil {
				return
			}
		}
		flush()
	}
}

func (s *Scribe) other(e draw.Entry) (*Line, error) {
	if e.Move != nil {
		return s.move(e.Move)
	}
	return s.change(e.Change)
}

func (s *Scribe) move(m *draw.Move) (*Line, error) {
	l := &Line{Version: m.Version, At: m.At, Kind: KindStock, PrizeID: m.PrizeID, Delta: m.Delta, Reason: m.Reason, Salt: s.salts.StockSalt(m.Version)}
	l.Item = m.Moment()
	if s.added[m.PrizeID] {
		return l, nil
	}
	p, err := s.prize(m.PrizeID, m.Version)
	if err != nil {
		return nil, err
	}
	s.added[p.ID] = true
	l.Name, l.Value, l.IsBlank, l.IsEndless = p.Name, p.Value.StringFixed(2), !p.IsWin(), p.IsEndless()
	return l, nil
}

// changed contains the members of a change's body that a line may need.
type changed struct {
	State draw.State `json:"state"`
	Mode  *string    `json:"mode"`
	Name  *string    `json:"name"`
	Prize string     `json:"prize"`
	Value *string    `json:"value"`
	Hash  string     `json:"hash"`
	// Round and Signature are only in pools with a beacon.
	Round     int64  `json:"round"`
	Signature string `json:"signature"`
	// Count and SHA256 belong to items of an agenda that were planned together, and to
	// codes.
	Count   int64  `json:"count"`
	Dropped int64  `json:"dropped"`
	SHA256  string `json:"sha256"`
}

func (s *Scribe) change(c *draw.Change) (*Line, error) {
	var body changed
	if err := json.Unmarshal([]byte(c.Body), &body); err != nil {
		return nil, draw.Unreadable("the change of version %d", err, c.Version)
	}
	l := &Line{Version: c.Version, At: c.At}
	switch c.What {
	case draw.WhatCreated:
		l.Kind = KindCreated
	case draw.WhatState:
		l.Kind = map[draw.State]Kind{draw.StateOpen: KindOpen, draw.StatePaused: KindPause, draw.StateClosed: KindClose}[body.State]
		l.Round, l.Signature = body.Round, body.Signature
	case draw.WhatOpening:
		l.Kind, l.Round = KindOpening, body.Round
	case draw.WhatMode:
		l.Kind = KindMode
		if body.Mode != nil {
			l.Mode = *body.Mode
		}
	case draw.WhatName:
		if body.Name != nil {
			l.Kind, l.Name = KindName, *body.Name
		}
	case draw.WhatArchived:
		l.Kind = KindArchive
	case draw.WhatErased: // only before the commitment
		l.Kind = KindErased
	case draw.WhatSkipped:
		l.Kind = KindSkip
	case draw.WhatCommit:
		l.Kind, l.Hash = KindCommit, body.Hash
	case draw.WhatAgenda:
		l.Kind, l.Items, l.SHA256 = KindAgenda, body.Count, body.SHA256
		if body.SHA256 == "" { // one item, the outcome of an item, or the removal of items
			l.Items, l.SHA256 = max(1, body.Count), s.salts.Seal(c.Version, c.Body)
		}
	case draw.WhatCodes:
		l.Kind, l.PrizeID, l.Items, l.Dropped, l.SHA256 = KindCodes, body.Prize, body.Count, body.Dropped, body.SHA256
	case draw.WhatPrize:
		return s.corrected(l, &body)
	case draw.WhatRules:
		return s.ruled(l, c)
	}
	if l.Kind == "" {
		return nil, draw.Unreadable("the change of version %d", fmt.Errorf("the public log has no line for a %q of its members", c.What), c.Version)
	}
	return l, nil
}

func (s *Scribe) corrected(l *Line, body *changed) (*Line, error) {
	p, err := s.prize(body.Prize, l.Version)
	if err != nil {
		return nil, err
	}
	if body.Name != nil {
		p.Name = *body.Name
	}
	if body.Value != nil {
		if p.Value, err = draw.ParseValue(*body.Value); err != nil {
			return nil, draw.Unreadable("the value in the change of version %d", err, l.Version)
		}
	}
	l.Kind, l.PrizeID, l.Name, l.Value = KindPrize, p.ID, p.Name, p.Value.StringFixed(2)
	return l, nil
}

func (s *Scribe) ruled(l *Line, c *draw.Change) (*Line, error) {
	rules, _, err := rules.Of(c)
	if err != nil {
		return nil, err
	}
	s.rules = rules
	l.Kind, l.Document = KindRules, "null"
	if rules != nil {
		l.Document, err = s.published(rules)
	}
	return l, err
}

// published returns a document in which pseudonyms replace the blocked users' names.
func (s *Scribe) published(parsed *draw.Rules) (string, error) {
	if len(parsed.Blocked) == 0 {
		return parsed.Document(), nil
	}
	var members map[string]jsontext.Value
	var blocked []string
	if err := json.Unmarshal([]byte(parsed.Document()), &members); err != nil {
		return "", err
	}
	if err := json.Unmarshal(members["blocked"], &blocked); err != nil {
		return "", err
	}
	for i, user := range blocked {
		blocked[i] = s.salts.Pseudonym(user)
	}
	var err error
	if members["blocked"], err = json.Marshal(blocked); err != nil {
		return "", err
	}
	replaced, err := json.Marshal(members)
	if err != nil {
		return "", err
	}
	published, err := rules.ParsePublished(replaced)
	if err != nil {
		return "", draw.WrapInternal(err, "the rules cannot be published")
	}
	return published.Document(), nil
}
