package proof

import "drawsvc/internal/draw"

// Tail is the part of a pool's log after some version.
type Tail struct {
	Lines []Numbered
	// Ended means that there are no more lines.
	Ended bool
	// Writable means that the lines come from a server that accepts writes. A line that is
	// missing there is lost. On any other server it may arrive later.
	Writable bool
}

// Numbered is a line, including its line end, and its version.
type Numbered struct {
	Version int64
	Text    []byte
}

// Resume moves a new scribe to the place after some entry. changes are the changes of
// rules and of prizes up to that entry, in order. added are the ids of the prizes that
// were added up to it. Error: CodeRulesUnreadable for a change that has no line.
func (s *Scribe) Resume(changes []draw.Change, added []string) error {
	for i := range changes {
		if _, err := s.change(&changes[i]); err != nil {
			return err
		}
	}
	for _, id := range added {
		s.added[id] = true
	}
	return nil
}
