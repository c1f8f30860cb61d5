package api

import (
	"bytes"
	"cmp"
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// What a command reads of a service, which may be hostile. The client bounds the length of
// an answer.
const (
	// itemsMax is the most items in the lists of an answer: of 64 MiB, each has 134 bytes.
	// An item of two bytes would be a hundred times as long in memory.
	itemsMax = 500_000
	// membersMax is the most members of an object that do not count as items.
	membersMax = 1000
	// listsMax is the longest list that a command keeps of many answers, in bytes. An item
	// counts as its text and itemSize: a million open items of an agenda may be kept.
	listsMax, itemSize = 256 << 20, 128
)

// bound reports whether an answer can be decoded and kept.
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

// countItems counts the items of all lists in a JSON text, as far as it can be read.
func countItems(text []byte) (n int) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	for {
		kind, length := d.StackIndex(d.StackDepth())
		if _, err := d.ReadToken(); err != nil {
			return n
		}
		if kind == '[' || length > 2*membersMax { // names and values of an object are counted
			n++
		}
	}
}

// seeList is see for one answer of a list that is kept.
func seeList[Out any](ctx context.Context, c *Client, path string) (Out, error) {
	call := newCall(http.MethodGet, path)
	call.IsList = true
	return fetch[Out](ctx, c, call)
}

// checkNext reports whether a page comes after the one before, so that a list has an end.
func checkNext[K cmp.Ordered](after, next K) error {
	if next <= after {
		return draw.Errorf(draw.CodeStoreUnavailable, "unexpected response: the pages of a list do not go on")
	}
	return nil
}

// checkPage is checkNext for a page that may be the last, or could not be read.
func checkPage[K cmp.Ordered](err error, after K, next *K) error {
	if err != nil || next == nil {
		return err
	}
	return checkNext(after, *next)
}
