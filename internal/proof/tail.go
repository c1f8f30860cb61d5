package proof

import "drawsvc/internal/draw"

// Tail is a pool's log from some version on.
type Tail struct {
	Lines []Numbered
	// Ended means that there are no more lines.
	Ended bool
	// Writable means that the lines come from a server that accepts writes. A line that
	// is missing there is lost; on any other server it may only be late.
	Writable bool
}

// Numbered is a line with its end, and its version.
type Numbered struct {
	Version int64
	Text    []byte
}

// Resume moves a scribe to the place after a given entry, instead of before the first
// entry. changes are the changes of rules and of prizes up to that entry, in order.
// added are the prizes that were stocked up to it. Error: CodeRulesUnreadable for a
// change that has no line.
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
