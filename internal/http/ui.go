package http

import (
	"cmp"
	"sync"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/packed"
	"drawsvc/internal/ui"
)

// uiFiles returns the handler of the files of the admin page; index.html is the
// default. They contain nothing secret: the page requests its data with its user's
// token.
func (s *Server) uiFiles() handler {
	return s.uiFile(func(c call) (string, bool) { return cmp.Or(c.param("file"), "index.html"), true })
}

// uiFile returns the handler that answers with an embedded file, with the operator's name
// in it. named returns the file that a call names, and whether the call may have it.
func (s *Server) uiFile(named func(c call) (name string, isAllowed bool)) handler {
	var kept sync.Map // *packed.Copy by name, only of existing files; each is compressed once
	return func(c call) error {
		name, isAllowed := named(c)
		file, found := ui.Open(name)
		if !found || !isAllowed {
			return draw.Errorf(draw.CodeNotFound, "the page has no file %s", draw.Quote(name))
		}
		body, known := kept.Load(name)
		if !known {
			body, _ = kept.LoadOrStore(name, packed.New(file.Named(s.OperatorName).Body))
		}
		h := c.gin.Writer.Header()
		h.Set("Content-Type", file.Type)
		h.Set("Content-Security-Policy", ui.Policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		c.writeOpenly(body.(*packed.Copy))
		return nil
	}
}
