package proof

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/note"

	"drawsvc/internal/draw"
)

// Presented is a caller's evidence of a draw. It is a receipt, or an answer that contains
// one: to POST /draw, or to GET /pools/{pool}/draws/{draw}/receipt.
type Presented struct {
	Receipt Receipt
	// Proof is nil if there is none.
	Proof *Inclusion

	drawID, user string
	awards       []presentedAward // nil if there are none
}

type presentedAward struct {
	Prize   string    `json:"prize"`
	Unit    int64     `json:"unit"`
	Version int64     `json:"version"`
	At      time.Time `json:"at"`
}

// ParsePresented reads the evidence that a caller presents. Error: CodeInvalidRequest.
func ParsePresented(b []byte) (*Presented, error) {
	var answer struct {
		Draw    string           `json:"draw"`
		User    string           `json:"user"`
		Awards  []presentedAward `json:"awards"`
		Receipt jsontext.Value   `json:"receipt"`
		Proof   jsontext.Value   `json:"proof"`
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "there is neither a receipt nor an answer that holds one")
	}
	p := &Presented{drawID: answer.Draw, user: answer.User, awards: answer.Awards}
	receipt := []byte(answer.Receipt)
	if receipt == nil { // then the text is the receipt itself
		receipt = b
	}
	if err := unmarshalReceipt(receipt, &p.Receipt); err != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "there is no receipt, or one with other members than note, or text and batch, and salt and user_salt")
	}
	if answer.Proof != nil {
		p.Proof = &Inclusion{}
		if err := json.Unmarshal(answer.Proof, p.Proof, json.RejectUnknownMembers(true)); err != nil {
			return nil, draw.Errorf(draw.CodeInvalidRequest, "the proof is not of the members checkpoint, index and hashes")
		}
	}
	return p, nil
}

// unmarshalReceipt reads a receipt in one of its two forms. The receipt must have all
// members of that form, and no others.
func unmarshalReceipt(b []byte, r *Receipt) error {
	if err := json.Unmarshal(b, r, json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	var has map[string]jsontext.Value
	if err := json.Unmarshal(b, &has); err != nil {
		return err
	}
	required := []string{"note", "salt"}
	if _, ok := has["batch"]; ok {
		required = []string{"text", "batch", "salt"}
		var batch map[string]jsontext.Value
		if err := json.Unmarshal(has["batch"], &batch); err != nil || !hasAll(batch, "note", "index", "hashes") {
			return errMembers
		}
	}
	optional := 0
	if hasAll(has, "user_salt") {
		optional = 1
	}
	if !hasAll(has, required...) || len(has) != len(required)+optional || optional == 1 && r.UserSalt == "" {
		return errMembers
	}
	return nil
}

var errMembers = errors.New("there are other members")

// hasAll reports whether an object has all the members, and none of them is null.
func hasAll(object map[string]jsontext.Value, names ...string) bool {
	for _, name := range names {
		if value, ok := object[name]; !ok || value.Kind() == 'n' {
			return false
		}
	}
	return true
}

// Open reads the receipt, which the key must have signed, and compares it with the answer
// that contains it. Error: CodeInvalidRequest.
func (p *Presented) Open(key note.Verifier) (*Promised, error) {
	promised, err := p.Receipt.Open(key)
	if err != nil {
		return nil, err
	}
	if err := promised.Opens(p.drawID, p.user); err != nil {
		return nil, err
	}
	same := func(a presentedAward, l *Line) bool {
		return a.Prize == l.PrizeID && a.Unit == l.Unit && a.Version == l.Version && a.At.Equal(l.At)
	}
	if p.awards != nil && !slices.EqualFunc(p.awards, promised.Lines, same) {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the awards of the answer are not those of its receipt")
	}
	return promised, nil
}

// readReceipts reads the caller's receipts, one on each line.
func (v *verifier) readReceipts() error {
	for i, b := range v.options.Receipts {
		p, err := ParsePresented(b)
		if err != nil {
			return findf(0, RuleReceipt, "receipt %d: %s", i+1, draw.DetailOf(err))
		}
		promised, err := p.Open(v.key)
		if err == nil && p.Proof != nil { // the caller kept the checkpoint of the proof, too
			var c *Checkpoint
			if c, err = promised.Includes(p.Proof, v.key); err == nil {
				v.signed = append(v.signed, expected{*c, RuleKept})
			}
		}
		if err != nil {
			return findf(0, RuleReceipt, "receipt %d: %s", i+1, draw.DetailOf(err))
		}
		if err := v.promise(promised); err != nil {
			return err
		}
	}
	return nil
}

// promise records the lines that a receipt promises, in addition to those of earlier
// receipts.
func (v *verifier) promise(p *Promised) error {
	if v.promised == nil {
		v.promised, v.promisedOf = map[int64][]byte{}, map[string]int64{}
	}
	for i, l := range p.Lines {
		if other := v.promised[l.Version]; other != nil && !bytes.Equal(other, p.Encoded[i]) {
			return findf(l.Version, RuleReceipt, "two receipts promise two entries")
		}
		v.promised[l.Version] = p.Encoded[i]
	}
	first := p.Lines[0]
	if other, known := v.promisedOf[first.Draw]; known && other != first.Version {
		return findf(min(first.Version, other), RuleReceipt, "two receipts of one draw have different texts")
	}
	v.promisedOf[first.Draw] = first.Version
	return nil
}

// keeps checks that an entry equals the one that a receipt promised for its version, if
// any.
func (v *verifier) keeps(version int64, b []byte) error {
	if promised := v.promised[version]; promised != nil && !bytes.Equal(promised, b) {
		return findf(version, RuleReceipt, "the entry is another than a receipt promised")
	}
	delete(v.promised, version)
	return nil
}

// lost returns the first version that a receipt promised and that the log does not reach.
func (v *verifier) lost() (version int64) {
	for promised := range v.promised {
		if version == 0 || promised < version {
			version = promised
		}
	}
	return version
}

// SplitReceipts splits a file of receipts, or of answers that contain one. Each is on one
// line; a single one may span several lines.
func SplitReceipts(file []byte) (receipts [][]byte) {
	if jsontext.Value(file).IsValid() {
		return [][]byte{file}
	}
	for line := range bytes.Lines(file) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			receipts = append(receipts, line)
		}
	}
	return receipts
}
