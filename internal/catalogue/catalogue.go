package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
)

// Limits of a catalogue.
const (
	// BodyMax is the longest catalogue, in bytes.
	BodyMax = 8 << 20
	// PrizesMax is the most prizes that it describes.
	PrizesMax = 100_000
	// TextMax is the longest text of a prize, in characters.
	TextMax = 4000
	// LinkMax is the longest address of an image or a link, in bytes.
	LinkMax = 2000
)

// Item is what the catalogue says of a prize. All but the ID may be empty.
type Item struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Image       string `json:"image,omitempty"`
	Link        string `json:"link,omitempty"`
}

// Stored is a catalogue as the database holds it.
type Stored struct {
	// Source is a digest of the address that it came from, which may hold a
	// secret.
	Source string
	// Body is what the source sent, Digest its SHA-256 in hex.
	Body   []byte
	Digest string
	// ETag and LastModified are what the source said of it; "" for nothing.
	ETag, LastModified string
	// FetchedAt is when the source sent it, CheckedAt when the source last said
	// that it still holds.
	FetchedAt, CheckedAt time.Time
}

// IsFrom says whether the catalogue came from an address.
func (c *Stored) IsFrom(source string) bool { return c.Source == digest([]byte(source)) }

// items are the prizes of the body, if it is the one that was fetched.
func (c *Stored) items() (map[string]Item, error) {
	if digest(c.Body) != c.Digest {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the catalogue that is stored is not the one that was fetched")
	}
	return Parse(c.Body)
}

// Parse reads and checks a catalogue: {"prizes":[{"id",…}]}. Members that are not
// known are left out, and none is there twice. Error: CodeInvalidRequest, with what
// is wrong.
func Parse(body []byte) (map[string]Item, error) {
	if len(body) > BodyMax {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the catalogue has more than %d bytes", BodyMax)
	}
	var whole struct {
		Prizes *[]Item `json:"prizes"`
	}
	if err := json.Unmarshal(body, &whole); err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the catalogue is not the JSON of a catalogue: %v", err)
	}
	if whole.Prizes == nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the catalogue has no member prizes")
	}
	if n := len(*whole.Prizes); n > PrizesMax {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the catalogue describes %d prizes; %d are the most", n, PrizesMax)
	}
	items := make(map[string]Item, len(*whole.Prizes))
	for _, item := range *whole.Prizes {
		if err := item.check(); err != nil {
			return nil, err
		}
		if _, twice := items[item.ID]; twice {
			return nil, draw.Errorf(draw.CodeInvalidRequest, "the catalogue describes prize %q twice", item.ID)
		}
		items[item.ID] = item
	}
	return items, nil
}

func (i *Item) check() error {
	if err := draw.CheckID("the id of a prize in the catalogue", i.ID); err != nil {
		return err
	}
	for member, text := range map[string]string{"name": i.Name, "description": i.Description} {
		if utf8.RuneCountInString(text) > TextMax {
			return draw.Errorf(draw.CodeInvalidRequest, "the catalogue's %s of prize %q has more than %d characters", member, i.ID, TextMax)
		}
	}
	for member, text := range map[string]string{"image": i.Image, "link": i.Link} {
		u, err := url.Parse(text)
		if err != nil || len(text) > LinkMax || u.Scheme != "" && u.Scheme != "https" && u.Scheme != "http" {
			return draw.Errorf(draw.CodeInvalidRequest, "the catalogue's %s of prize %q is no address of at most %d bytes by http or https", member, i.ID, LinkMax)
		}
	}
	return nil
}

// digest is the SHA-256 of data, in hex.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
