package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Client calls one service. Its fields are not changed once it is used; its
// methods may be called from any goroutine.
type Client struct {
	// URL is the address of the service, such as https://draws.example.
	URL string
	// Token is the bearer token, "" for none.
	Token string
	// AllowPlainHTTP sends the token also without encryption to another machine, as
	// in a cluster whose network is trusted. Whoever sees the token can use it.
	AllowPlainHTTP bool
	// HTTP makes the requests; nil is http.DefaultClient. No redirect is followed,
	// unless its CheckRedirect is set and says so.
	HTTP *http.Client
}

// NewKey makes a key for one draw: a UUIDv7, which nobody can guess and which
// rises with time. Store it before the first call.
func NewKey() string { return uuid.Must(uuid.NewV7()).String() }

// Request is a draw that is asked for.
type Request struct {
	Pool string
	User string
	// Key names the draw: 1 to 128 printable ASCII characters.
	Key string
	// Count is the number of units, all or none, 1 to 100; 0 stands for 1.
	Count int
	// Ticket is a signed ticket, which some pools want; "" for none. Its id is the
	// key, and its user the user.
	Ticket string
	// Receipt asks for a signed receipt, which a pool that is committed to its
	// numbers gives, and any other refuses.
	Receipt bool
}

// Draw is a draw that was made.
type Draw struct {
	// Key is the request's.
	Key  string `json:"draw"`
	Pool string `json:"pool"`
	User string `json:"user"`
	// Replayed says that an earlier request made the draw.
	Replayed bool    `json:"replayed"`
	Awards   []Award `json:"awards"`
	// Receipt is nil where none was asked for.
	Receipt *Receipt `json:"receipt,omitempty"`
}

// Receipt is a pool's signed promise that its public log has the draw. Written as
// JSON it is what drawsvc receipt verify takes.
type Receipt struct {
	// Note is a signed note. The salts open its tags; UserSalt is empty under rules
	// that count no users.
	Note     string `json:"note"`
	Salt     string `json:"salt"`
	UserSalt string `json:"user_salt,omitempty"`
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
	// Code is that of the unit, "" where the prize has no codes.
	Code string `json:"code"`
}

// Pool is what those who draw may know of a pool.
type Pool struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// State is open, paused or closed.
	State  string  `json:"state"`
	Prizes []Prize `json:"prizes"`
}

// Prize is one prize of a pool. The last three are empty without a catalogue.
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

// Draw draws once, however often it has to send the request, and whatever was
// sent with the key before. A ctx without a deadline gets one of a minute.
// Errors: *Error, *Unsettled, ErrPlainHTTP, and that of a Request that cannot be sent.
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
	var made Draw
	err = c.settle(ctx, call{http.MethodPost, "/draw", r.Key, body, shortMax}, &made, func() bool { return made.Key == r.Key && made.Pool == r.Pool })
	if err != nil {
		return nil, err
	}
	return &made, nil
}

// DrawAgain reads a draw that was made. DrawNotFound settles nothing while a
// request for the draw is under way: to settle, call Draw. Errors: *Error,
// *Unsettled.
func (c *Client) DrawAgain(ctx context.Context, pool, key string) (*Draw, error) {
	var made Draw
	path := "/pools/" + url.PathEscape(pool) + "/draws/" + url.PathEscape(key)
	err := c.settle(ctx, call{method: http.MethodGet, path: path, bodyMax: shortMax}, &made, func() bool { return made.Key == key })
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
