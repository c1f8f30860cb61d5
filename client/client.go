package client

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Client calls one service. Its fields must not change once it is used; its methods may
// be called from any goroutine.
type Client struct {
	// URL is the address of the service, such as https://draws.example.
	URL string
	// Token is the bearer token, "" for none.
	Token string
	// AllowPlainHTTP allows sending the token without encryption to another machine, as
	// in a cluster with a trusted network. Anyone who gets the token can use it.
	AllowPlainHTTP bool
	// ByPath sends draws to /pools/{pool}/draws instead of /draw, so that a proxy can
	// route pools to deployments. Services of 0.1.0 do not have that call.
	ByPath bool
	// HTTP sends the requests; nil means http.DefaultClient. No redirect is followed,
	// unless its CheckRedirect is set and allows it.
	HTTP *http.Client
}

// NewKey creates a key for one draw: a UUIDv7. It begins with the time in milliseconds,
// and nobody can guess it. All 74 bits that RFC 9562 leaves free are random, while
// uuid.NewV7 uses 12 of them for the time. Store the key before the first call.
func NewKey() string {
	key := uuid.New()
	now := uint64(time.Now().UnixMilli())
	binary.BigEndian.PutUint16(key[4:], uint16(now))
	binary.BigEndian.PutUint32(key[:], uint32(now>>16))
	key[6] = 7<<4 | key[6]&0xf
	return key.String()
}

// Request is a request for a draw.
type Request struct {
	Pool string
	User string
	// Key names the draw: 1 to 128 printable ASCII characters.
	Key string
	// Count is the number of units, 1 to 100; 0 means 1. The draw gives all of them or none.
	Count int
	// Ticket is a signed ticket, which some pools require; "" for none. Key must be the
	// ticket's id, and User and Count must be those of the ticket.
	Ticket string
	// Receipt requests a signed receipt. A pool that is committed to its numbers gives
	// a receipt; any other pool refuses the request.
	Receipt bool
}

// Draw is a draw that was made.
type Draw struct {
	// Key is the request's key.
	Key  string `json:"draw"`
	Pool string `json:"pool"`
	User string `json:"user"`
	// Replayed means that an earlier request made the draw.
	Replayed bool    `json:"replayed"`
	Awards   []Award `json:"awards"`
	// Receipt is nil if none was requested.
	Receipt *Receipt `json:"receipt,omitempty"`
}

// Receipt is a pool's signed promise that its public log has the draw. Its JSON form is
// the input of drawsvc receipt verify.
type Receipt struct {
	// Note is a signed note. It is "" for a receipt that was signed together with
	// others, which has Text and Batch.
	Note  string        `json:"note,omitempty"`
	Text  string        `json:"text,omitempty"`
	Batch *ReceiptBatch `json:"batch,omitempty"`
	// With the salts, anyone can check that the tags in the log belong to the key and the
	// user. UserSalt is empty under rules that count no users.
	Salt     string `json:"salt"`
	UserSalt string `json:"user_salt,omitempty"`
}

// ReceiptBatch proves that the text of a receipt was signed with others.
type ReceiptBatch struct {
	// Note is a signed note with the root of a tree whose leaves are the texts.
	Note string `json:"note"`
	// Index is the position of the leaf, from 0. Hashes is its path, in Base64.
	Index  int      `json:"index"`
	Hashes []string `json:"hashes"`
}

// Award is one unit that a draw took.
type Award struct {
	Prize string `json:"prize"`
	Name  string `json:"name"`
	// Value is an amount of money with two decimals.
	Value string `json:"value"`
	// Win is false for a blank, which is a losing ticket.
	Win     bool      `json:"win"`
	Unit    int64     `json:"unit"`
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
	// Code is the code of the unit. It is "" if the prize has no codes, and while the
	// award has to be claimed.
	Code string `json:"code"`
	// ClaimUntil is the time by which the award has to be claimed. It is nil without a
	// deadline, and if the award needs no claim.
	ClaimUntil *time.Time `json:"claim_until"`
	// State is won, claimed, fulfilled, expired or voided in the answers of
	// [Client.Claim] and [Client.DrawAgain]. It is "" if the award has no state, and in
	// the answers of [Client.Draw].
	State string `json:"state"`
}

// Pool is the part of a pool that drawing clients may read.
type Pool struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Text is the operator's text for players, empty for none.
	Text string `json:"text"`
	// State is open, paused or closed.
	State string `json:"state"`
	// OpensAt is the next time at which the agenda opens the pool. ClosesAt is the next time
	// at which it pauses or closes the pool. The zero time means never.
	OpensAt  time.Time `json:"opens_at"`
	ClosesAt time.Time `json:"closes_at"`
	Prizes   []Prize   `json:"prizes"`
}

// Prize is one prize of a pool. The last three members are empty unless the operator or
// the catalogue sets them.
type Prize struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Value string `json:"value"`
	// Kind is prize, or blank for a losing ticket.
	Kind        string `json:"kind"`
	Description string `json:"description"`
	Image       string `json:"image"`
	Link        string `json:"link"`
}

// Draw draws once, however often it sends the request, and even if requests with the key
// were sent before. If ctx has no deadline, Draw gives up after a minute. Errors: *Error,
// *Unsettled, ErrPlainHTTP, and the error of a Request that cannot be sent.
func (c *Client) Draw(ctx context.Context, r Request) (*Draw, error) {
	if !isKey(r.Key) {
		return nil, errors.New("client: a draw needs a key of 1 to 128 printable ASCII characters, stored before the first call")
	}
	wanted := map[string]any{"pool": r.Pool, "user": r.User, "count": cmp.Or(r.Count, 1)}
	if r.Ticket != "" {
		wanted["ticket"] = r.Ticket
	}
	if r.Receipt {
		wanted["receipt"] = true
	}
	body, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	path := "/draw"
	if c.ByPath {
		path = "/pools/" + url.PathEscape(r.Pool) + "/draws"
	}
	var made Draw
	err = c.settle(ctx, call{http.MethodPost, path, r.Key, body, shortMax}, &made, func() bool { return made.Key == r.Key && made.Pool == r.Pool })
	if err != nil {
		return nil, err
	}
	return &made, nil
}

// DrawAgain reads a draw that was made. DrawNotFound does not settle a draw while a
// request for it is under way: to settle it, call Draw. Errors: *Error, *Unsettled.
func (c *Client) DrawAgain(ctx context.Context, pool, key string) (*Draw, error) {
	var made Draw
	path := "/pools/" + url.PathEscape(pool) + "/draws/" + url.PathEscape(key)
	err := c.settle(ctx, call{method: http.MethodGet, path: path, bodyMax: shortMax}, &made, func() bool { return made.Key == key })
	if err != nil {
		return nil, err
	}
	return &made, nil
}

// Claim claims the awards of a user's draw that need a claim, and returns the draw as
// DrawAgain does. If they are already claimed, it returns the same draw. Errors: *Error,
// *Unsettled.
func (c *Client) Claim(ctx context.Context, pool, key, user string) (*Draw, error) {
	body, err := json.Marshal(map[string]string{"user": user})
	if err != nil {
		return nil, err
	}
	var made Draw
	path := "/pools/" + url.PathEscape(pool) + "/draws/" + url.PathEscape(key) + "/claim"
	err = c.settle(ctx, call{method: http.MethodPost, path: path, body: body, bodyMax: shortMax}, &made, func() bool { return made.Key == key })
	if err != nil {
		return nil, err
	}
	return &made, nil
}

// Pool reads a pool. Errors: *Error, *Unsettled.
func (c *Client) Pool(ctx context.Context, id string) (*Pool, error) {
	var p Pool
	err := c.settle(ctx, call{method: http.MethodGet, path: "/pools/" + url.PathEscape(id)}, &p, func() bool { return p.ID == id })
	if err != nil {
		return nil, err
	}
	return &p, nil
}

func isKey(key string) bool {
	return key != "" && len(key) <= 128 && strings.IndexFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}
