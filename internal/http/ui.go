package http

import (
	"cmp"
	"sync"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/packed"
	"drawsvc/internal/ui"
)

// uiFiles is the handler of the files of the admin page; index.html is the one that
// is asked for by no name. They hold nothing secret: what the page shows it asks for
// with a token of its user.
func uiFiles() handler {
	var kept sync.Map // of *packed.Copy by name: files that there are, each compressed once
	return func(c call) error {
		name := cmp.Or(c.param("file"), "index.html")
		file, found := ui.Open(name)
		if !found {
			return draw.Errorf(draw.CodeNotFound, "the admin page has no file %s", api.Quote(name))
		}
		body, known := kept.Load(name)
		if !known {
			body, _ = kept.LoadOrStore(name, packed.New(file.Body))
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
