package proof

import (
	"encoding/base64"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"drawsvc/internal/draw"
)

// Receipt promises that a pool's log has the lines of one draw. Its holder can use the
// salts to show which draw and user the tags in the lines stand for. The holder can also
// prove that a log lacks one of the lines. A receipt that is signed alone has a Note. A
// receipt that is signed together with others of its commit has a Text and a Batch.
type Receipt struct {
	// Note is the text, signed by the pool's key.
	Note string `json:"note,omitzero"`
	// Text is HOST/POOL/receipt, then the lines.
	Text  string        `json:"text,omitzero"`
	Batch *ReceiptBatch `json:"batch,omitzero"`
	// With Salt one can check the draw's tag, with UserSalt the tag of its user. UserSalt is
	// "" unless the rules count users. Both are unpadded base64url.
	Salt     string `json:"salt"`
	UserSalt string `json:"user_salt,omitempty"`
}

// receiptSuffix follows the origin of a pool in its receipts.
const receiptSuffix = "/receipt\n"

// Receipts signs the receipts of one pool. It is safe for concurrent use.
type Receipts struct {
	origin string
	salts  Salts
	signer note.Signer
}

// NewReceipts returns the signer of the receipts of a pool with the given origin and
// secrets.
func NewReceipts(origin string, secrets *Secrets) (*Receipts, error) {
	signer, err := newSigner(secrets.Signer)
	if err != nil {
		return nil, err
	}
	return &Receipts{origin, secrets.Salts, signer}, nil
}

// unsigned is a receipt before it is signed.
type unsigned struct {
	text []byte
	salt Salt
	// userSalt is the zero salt if the receipt has no UserSalt.
	userSalt Salt
}

// Of returns the receipt of a draw, signed alone. The draw's awards must include their
// redirects. rules are the rules in force at its first award, nil for none.
func (r *Receipts) Of(awards []draw.Award, rules *draw.Rules) (Receipt, error) {
	u := r.write(nil, r.salts.tagger(), awards, rules)
	signed, err := r.sign(string(u.text))
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{Note: string(signed), Salt: u.salt.String()}
	if u.userSalt != (Salt{}) {
		receipt.UserSalt = u.userSalt.String()
	}
	return receipt, nil
}

// room returns a length that is enough for most texts with the given awards.
func (r *Receipts) room(awards []draw.Award) int {
	const lineRoom = 256
	return len(r.origin) + len(receiptSuffix) + lineRoom*len(awards)
}

// write writes the receipt of a draw. It uses the capacity of text if that is enough.
func (r *Receipts) write(text []byte, by *tagger, awards []draw.Award, rules *draw.Rules) unsigned {
	u := unsigned{text: slices.Grow(text, r.room(awards)), salt: by.sum("", awards[0].DrawID)}
	u.text = append(append(u.text, r.origin...), receiptSuffix...)
	var line Line
	by.lines(&line, u.salt, awards, rules, func() bool {
		u.text = line.Append(u.text)
		return true
	})
	if _, erased := draw.ErasedTag(awards[0].UserID); CountsUsers(rules) && !erased {
		u.userSalt = by.sum("user\n", awards[0].UserID)
	}
	return u
}

// sign signs a text as a note.
func (r *Receipts) sign(text string) ([]byte, error) {
	signed, err := note.Sign(&note.Note{Text: text}, r.signer)
	if err != nil {
		return nil, draw.WrapInternal(err, "the receipt of a draw could not be signed")
	}
	return signed, nil
}

// lines sets line to the line of each award of one draw, in order, and calls each after
// every one. It ends when each returns false. salt is the salt of the draw's name. For
// consecutive awards of one user, the user's tag is computed once. For an erased user
// only the tag is known.
func (t *tagger) lines(line *Line, salt Salt, awards []draw.Award, rules *draw.Rules, each func() bool) bool {
	*line = Line{Kind: KindAward, Draw: salt.tag("draw\n", awards[0].DrawID), Count: len(awards)}
	for i := range awards {
		a := &awards[i]
		if i == 0 || a.UserID != awards[i-1].UserID {
			line.User = t.userOf(salt, a.UserID, rules)
		}
		line.Version, line.At, line.PrizeID, line.Unit, line.Ordinal, line.Redirect = a.Version, a.At, a.PrizeID, a.Unit, a.Ordinal, a.Redirect
		if !each() {
			return false
		}
	}
	return true
}

// UserOf returns the tag of a draw's user. rules are the rules of the draw, nil for none.
func (s Salts) UserOf(drawID, user string, rules *draw.Rules) string {
	t := s.tagger()
	return t.userOf(t.sum("", drawID), user, rules)
}

func (t *tagger) userOf(salt Salt, user string, rules *draw.Rules) string {
	if tag, erased := draw.ErasedTag(user); erased {
		return tag
	}
	if CountsUsers(rules) {
		return t.pseudonym(user)
	}
	return salt.tag("user\n", user)
}

// Promised are the lines of one draw that a receipt promises.
type Promised struct {
	Lines []*Line
	// Encoded are the lines as the log has them.
	Encoded [][]byte

	salt     Salt
	userSalt *Salt // nil if the receipt has none
}

// Open reads a receipt that the key must have signed. Error: CodeInvalidRequest, which
// states what is wrong.
func (r *Receipt) Open(key note.Verifier) (*Promised, error) {
	p := &Promised{}
	var err error
	if p.salt, err = parseSalt("salt", r.Salt); err != nil {
		return nil, err
	}
	if r.UserSalt != "" {
		salt, err := parseSalt("user_salt", r.UserSalt)
		if err != nil {
			return nil, err
		}
		p.userSalt = &salt
	}
	text, err := r.signed(key)
	if err != nil {
		return nil, err
	}
	lines, found := strings.CutPrefix(text, key.Name()+receiptSuffix)
	if !found {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the text is not a receipt of %s", key.Name())
	}
	for encoded := range strings.Lines(lines) {
		l, err := ParseLine([]byte(encoded))
		if err != nil {
			return nil, err
		}
		p.Lines, p.Encoded = append(p.Lines, l), append(p.Encoded, []byte(encoded))
	}
	return p, p.check()
}

// signed returns the text. The key must have signed it, alone or with others. Error:
// CodeInvalidRequest.
func (r *Receipt) signed(key note.Verifier) (string, error) {
	if r.Batch == nil {
		return Open([]byte(r.Note), key)
	}
	return r.Text, r.Batch.check(r.Text, key)
}

// check returns an error unless the lines are those of one complete draw.
func (p *Promised) check() error {
	for i, l := range p.Lines {
		first := p.Lines[0]
		if l.Kind != KindAward || l.Version != first.Version+int64(i) || l.Ordinal != i+1 || l.Count != len(p.Lines) ||
			l.Draw != first.Draw || l.User != first.User || !l.At.Equal(first.At) {
			return draw.Errorf(draw.CodeInvalidRequest, "line %d is not the next of one draw", i+1)
		}
	}
	if len(p.Lines) == 0 {
		return draw.Errorf(draw.CodeInvalidRequest, "the receipt has no lines")
	}
	return nil
}

// Opens returns an error unless the tags belong to the given draw and user. If drawID or
// user is "", it is not compared. Error: CodeInvalidRequest.
func (p *Promised) Opens(drawID, user string) error {
	first := p.Lines[0]
	if drawID != "" && p.salt.tag("draw\n", drawID) != first.Draw {
		return draw.Errorf(draw.CodeInvalidRequest, "the receipt is not of the draw %q", drawID)
	}
	salt := p.salt
	if p.userSalt != nil {
		salt = *p.userSalt
	}
	if erased, is := draw.ErasedTag(user); user != "" && salt.tag("user\n", user) != first.User && (!is || erased != first.User) {
		return draw.Errorf(draw.CodeInvalidRequest, "the receipt is not of a draw of the user %q", user)
	}
	return nil
}

// Includes checks an inclusion proof: the key must have signed its checkpoint, and the
// lines must be in the checkpoint's log. It returns the checkpoint. Error:
// CodeInvalidRequest.
func (p *Promised) Includes(i *Inclusion, key note.Verifier) (*Checkpoint, error) {
	c, err := OpenCheckpoint([]byte(i.Checkpoint), key)
	if err != nil {
		return nil, err
	}
	if i.Index != p.Lines[0].Version-1 {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the proof of inclusion is of entry %d, and the first line is entry %d", i.Index+1, p.Lines[0].Version)
	}
	root, err := i.Root(c.Size, p.Encoded)
	if err == nil && root != c.Root {
		err = draw.Errorf(draw.CodeInvalidRequest, "the lines are not in the log of the checkpoint")
	}
	return c, err
}

// OpenCheckpoint reads a checkpoint that the key of its log has signed. Error:
// CodeInvalidRequest.
func OpenCheckpoint(signed []byte, key note.Verifier) (*Checkpoint, error) {
	text, err := Open(signed, key)
	if err != nil {
		return nil, err
	}
	c, err := ParseCheckpoint(text)
	if err == nil && c.Origin != key.Name() {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the checkpoint is of another log")
	}
	return c, err
}

// parseSalt reads 32 bytes of unpadded base64url in canonical form.
func parseSalt(name, text string) (salt Salt, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || copy(salt[:], b) != len(salt) || salt.String() != text {
		return salt, draw.Errorf(draw.CodeInvalidRequest, "%s is not 32 bytes of unpadded base64url", name)
	}
	return salt, nil
}
