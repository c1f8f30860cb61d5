package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// Limits of a catalogue.
const (
	// BodyMax is the maximum length of a catalogue, in bytes.
	BodyMax = 8 << 20
	// PrizesMax is the maximum number of prizes that it describes.
	PrizesMax = 100_000
	// TextMax is the maximum length of a prize's text, in characters.
	TextMax = 4000
	// LinkMax is the maximum length of the address of an image or a link, in bytes.
	LinkMax = 2000
)

// Item is the catalogue's entry of one prize. All members except the ID may be empty.
type Item struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Image       string `json:"image,omitempty"`
	Link        string `json:"link,omitempty"`
}

// Stored is a catalogue in the database.
type Stored struct {
	// Source is a digest of the address of the source: the address itself may contain a
	// secret.
	Source string
	// Body is the source's response, Digest its SHA-256 in hex.
	Body   []byte
	Digest string
	// ETag and LastModified are the source's headers; "" for none.
	ETag, LastModified string
	// FetchedAt is when the source sent the body, CheckedAt when the source last confirmed
	// it.
	FetchedAt, CheckedAt time.Time
}

// IsFrom reports whether the catalogue came from the given address.
func (c *Stored) IsFrom(source string) bool { return c.Source == digest([]byte(source)) }

// items returns the prizes of the body if its digest matches.
func (c *Stored) items() (map[string]Item, error) {
	if digest(c.Body) != c.Digest {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the stored catalogue is not the one that was fetched")
	}
	return Parse(c.Body)
}

// Parse reads and checks a catalogue: {"prizes":[{"id",…}]}. Unknown members are
// ignored, repeated ones are refused. Error: CodeInvalidRequest, with the reason.
func Parse(body []byte) (map[string]Item, error) {
	if len(body) > BodyMax {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the catalogue has more than %d bytes", BodyMax)
	}
	var whole struct {
		Prizes items `json:"prizes"`
	}
	if err := json.Unmarshal(body, &whole); err != nil {
		if refused, ok := errors.AsType[*draw.Error](err); ok {
			return nil, refused
		}
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the catalogue is not the JSON of a catalogue: %v", err)
	}
	if whole.Prizes == nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the catalogue has no member prizes")
	}
	return whole.Prizes, nil
}

// items holds the prizes of a catalogue by id, nil for none.
type items map[string]Item

// UnmarshalJSONFrom reads a list of prizes one by one, and stops at the first prize that
// is invalid or exceeds the limit. A whole decoded list could take a hundred times its
// length in memory. Error: CodeInvalidRequest.
func (all *items) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	if in.PeekKind() == 'n' { // null, which is not a list
		return in.SkipValue()
	}
	begin, err := in.ReadToken()
	if err == nil && begin.Kind() != '[' {
		err = draw.Errorf(draw.CodeInvalidRequest, "the catalogue is not the JSON of a catalogue: prizes is not a list")
	}
	if err != nil {
		return err
	}
	*all = items{}
	for in.PeekKind() != ']' {
		var item Item
		if err := json.UnmarshalDecode(in, &item); err != nil {
			return err
		}
		if err := all.add(&item); err != nil {
			return err
		}
	}
	_, err = in.ReadToken()
	return err
}

func (all items) add(item *Item) error {
	if len(all) == PrizesMax {
		return draw.Errorf(draw.CodeInvalidRequest, "the catalogue describes more than %d prizes", PrizesMax)
	}
	if err := item.check(); err != nil {
		return err
	}
	if _, twice := all[item.ID]; twice {
		return draw.Errorf(draw.CodeInvalidRequest, "the catalogue describes prize %q twice", item.ID)
	}
	all[item.ID] = *item
	return nil
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
			return draw.Errorf(draw.CodeInvalidRequest, "the catalogue's %s of prize %q is not an http or https address of at most %d bytes", member, i.ID, LinkMax)
		}
	}
	return nil
}

// digest returns the SHA-256 of data, in hex.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
