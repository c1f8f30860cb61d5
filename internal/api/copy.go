package api

import (
	"context"
	"net/http"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// PoolCopy is the body of POST …/copy.
type PoolCopy struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Days copies the agenda; all its times move by that many calendar days. With null, the
	// agenda is not copied.
	Days *int `json:"days,omitzero"`
	// Zone is the IANA name of the time zone in which each time of day stays the same.
	Zone *string `json:"zone,omitzero"`
}

// Read returns the copy that the body describes. Error: CodeInvalidRequest.
func (b *PoolCopy) Read() (c draw.PoolCopy, err error) {
	c = draw.PoolCopy{ID: b.ID, Name: b.Name, Days: b.Days}
	if b.Zone != nil {
		if b.Days == nil {
			return c, draw.Errorf(draw.CodeInvalidRequest, "zone needs days")
		}
		if c.Zone, err = rules.ParseZone(*b.Zone); err != nil {
			return c, err
		}
	}
	return c, c.Check()
}

// CopiedPool is the answer to a copy.
type CopiedPool struct {
	Pool Pool `json:"pool"`
	// Planned are the lists of items. Each of them was planned by one request.
	Planned []CopiedList `json:"planned"`
}

// CopiedList is one list of items that a copy has planned, with its seal. The salt is not
// stored anywhere.
type CopiedList struct {
	// Item is the number of the first item, Version the version of the change.
	Item    int64  `json:"item"`
	Count   int    `json:"count"`
	Version int64  `json:"version"`
	SHA256  string `json:"sha256"`
	Salt    string `json:"salt"`
}

// CopyPool creates a copy of a pool. Errors: CodeInvalidRequest, CodePoolNotFound,
// CodePoolExists.
func (c *Client) CopyPool(ctx context.Context, fromID string, wanted *PoolCopy) (CopiedPool, error) {
	return send[CopiedPool](ctx, c, newCall(http.MethodPost, poolPath(fromID, "copy")), wanted)
}
