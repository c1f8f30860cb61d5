package api

import (
	"bytes"
	"cmp"
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// Limits for what a command reads from a service, which may be hostile. The client also
// limits the length of a response.
const (
	// itemsMax is the maximum number of items in the lists of a response. In 64 MiB, each of
	// so many items may have 134 bytes. Without this limit, an answer full of two-byte items
	// would take a hundred times its size in memory.
	itemsMax = 500_000
	// membersMax is the maximum number of members of an object that do not count as items.
	membersMax = 1000
	// listsMax bounds the list that a command collects from many responses, in bytes. An
	// item counts as the length of its text plus itemSize. So a million open items of an
	// agenda fit.
	listsMax, itemSize = 256 << 20, 128
)

// bound returns an error if decoding and keeping a response would take too much memory.
func (r *Remote) bound(body []byte, isList bool) error {
	items := countItems(body)
	if items > itemsMax {
		return draw.Errorf(draw.CodeStoreUnavailable, "the answer has more than %d items; such a pool is read on the database", itemsMax)
	}
	if !isList {
		return nil
	}
	if r.listed += int64(len(body)) + itemSize*int64(items); r.listed > listsMax {
		return draw.Errorf(draw.CodeStoreUnavailable, "the list is longer than %d MiB; it is read on the database", listsMax>>20)
	}
	return nil
}

// countItems counts the items of all lists in a JSON text, up to the first error in the
// text. It stops when there are more than itemsMax.
func countItems(text []byte) (n int) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	for n <= itemsMax {
		kind, length := d.StackIndex(d.StackDepth())
		if _, err := d.ReadToken(); err != nil {
			return n
		}
		if kind == '[' || length > 2*membersMax { // names and values of an object each count
			n++
		}
	}
	return n
}

// seeList makes a read like see, for one response of a list whose items the caller keeps.
func seeList[Out any](ctx context.Context, c *Client, path string) (Out, error) {
	call := newCall(http.MethodGet, path)
	call.IsList = true
	return fetch[Out](ctx, c, call)
}

// checkNext returns an error unless a page comes after the previous one. Without this
// check, a list might have no end.
func checkNext[K cmp.Ordered](after, next K) error {
	if next <= after {
		return draw.Errorf(draw.CodeStoreUnavailable, "unexpected response: the pages of a list do not go on")
	}
	return nil
}

// checkPage checks a page as checkNext does. It returns err if that is not nil, and nil
// if the page is the last one.
func checkPage[K cmp.Ordered](err error, after K, next *K) error {
	if err != nil || next == nil {
		return err
	}
	return checkNext(after, *next)
}
