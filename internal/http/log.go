package http

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

type logAnswer struct {
	Entries []any `json:"entries"`
	// Next is the after of the next page, null when this is the last.
	Next *int64 `json:"next"`
}

// The entries of a log: the members of their kinds, and which kind it is.
type (
	awardEntry struct {
		Kind string `json:"kind"`
		api.Award
		Redirect *redirectAnswer `json:"redirect,omitempty"`
	}
	moveEntry struct {
		Kind string `json:"kind"`
		api.Move
	}
	changeEntry struct {
		Kind    string         `json:"kind"`
		Version int64          `json:"version"`
		At      string         `json:"at"`
		What    draw.What      `json:"what"`
		Body    jsontext.Value `json:"body"`
		Actor   string         `json:"actor"`
	}
)

// newEntry is an entry as the log shows it.
func newEntry(e *draw.Entry) any {
	switch {
	case e.Award != nil:
		return awardEntry{"award", api.ShowAward(e.Award), newRedirect(e.Award.Redirect)}
	case e.Move != nil:
		return moveEntry{"move", api.ShowMove(e.Move)}
	}
	c := e.Change
	body := jsontext.Value(c.Body)
	if !body.IsValid() {
		body = nil // only a damaged pool has such a change; it is shown all the same
	}
	return changeEntry{"change", c.Version, api.ShowTime(c.At), c.What, body, c.Actor}
}

// logRead reads the log that the call asks for: the whole, or acts alone.
func (s *Server) logRead(c call) (func(ctx context.Context, poolID string, after int64, limit int) ([]draw.Entry, error), error) {
	acts, err := c.word("acts", "false", "true")
	if acts == "true" {
		return s.Store.Acts, err
	}
	return s.Store.Log, err
}

// log answers GET /admin/pools/{pool}/log.
func (s *Server) log(ctx context.Context, c call) (logAnswer, error) {
	read, err := s.logRead(c)
	if err != nil {
		return logAnswer{}, err
	}
	found, next, err := readPage(ctx, c, "pool", read, func(e *draw.Entry) int64 { return e.Version() })
	return logAnswer{api.ShowEach(found, newEntry), next}, err
}

// exportLog streams it, a line of JSON for each entry.
func (s *Server) exportLog(c call) error {
	read, err := s.logRead(c)
	if err != nil {
		return err
	}
	version := func(e *draw.Entry) int64 { return e.Version() }
	var out bytes.Buffer
	x := export[draw.Entry]{contentType: typeNDJSON, read: paged(read, version), version: version}
	x.write = func(e *draw.Entry) { _ = api.WriteLine(&out, newEntry(e)) } // to memory: cannot fail
	return x.stream(c, &out)
}
