package draw

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// CountMax is the maximum number of units that one draw may request.
const CountMax = 100

// Request is one request to draw.
type Request struct {
	PoolID string
	UserID string
	// DrawID is the draw's name: a pool decides it only once.
	DrawID string
	// Named means that the caller chose DrawID, so that the log may already have it. A
	// name that the service created is new by construction and is never looked up.
	Named bool
	// Count is the number of units, 1 to CountMax. The draw gets all of them or none.
	Count int
	// TicketUntil is when the request's verified ticket expires; the zero time for a
	// request without a ticket.
	TicketUntil time.Time
	// Receipt means that the caller wants the draw's receipt. A pool with secret
	// numbers has no receipts, and refuses the draw.
	Receipt bool
}

// Check returns an error unless the request may be decided.
func (r *Request) Check() error {
	if err := CheckID("pool", r.PoolID); err != nil {
		return err
	}
	if err := CheckUser(r.UserID); err != nil {
		return err
	}
	if _, erased := ErasedTag(r.UserID); erased {
		return Errorf(CodeInvalidRequest, "user is reserved: it stands for one who was erased")
	}
	if err := CheckCount(r.Count); err != nil {
		return err
	}
	return CheckKey(r.DrawID)
}

// Award is the durable record that a draw took one unit.
type Award struct {
	// Version is the pool's version that this award made, from 1.
	Version int64
	DrawID  string
	// Ordinal is the place of this unit in its draw, from 1.
	Ordinal int
	UserID  string
	PrizeID string
	// PrizeName and Value belong to the prize; they never change.
	PrizeName string
	Value     decimal.Decimal
	// Blank is true for a losing ticket. HasCode is true if the code of the award may be
	// shown: its prize has codes, and the award needs no claim. Code is the unit's code.
	// It is set only in the answer to the draw's caller, after the commit.
	Blank, HasCode bool
	Code           string
	// Sealed is the sealed code, if the write of the award has read it after its commit.
	Sealed *SealedCode
	// NeedsClaim reports whether the award has to be claimed. ClaimUntil is the initial
	// deadline of the claim, the zero time for none. AsksClaims reports whether the rules
	// of the award's version have to be read to set both.
	NeedsClaim, AsksClaims bool
	ClaimUntil             time.Time
	// Unit counts the prize's issued units, from 1.
	Unit int64
	// At is the time of the decision, UTC, to the microsecond.
	At time.Time
	// Redirect is nil if the rules did not replace the drawn unit.
	Redirect *Redirect
}

// SealedCode is a code in the form in which the database stores it.
type SealedCode struct {
	KeyID string
	Bytes []byte
}

// Win reports whether the award is of kind prize.
func (a *Award) Win() bool { return !a.Blank }

// Redirect records that the rules gave a prize that differs from the drawn one.
type Redirect struct {
	// Drawn is the id of the prize that was drawn, "" for nothing.
	Drawn string
	Why   Why
}

// Why is the reason why an outcome was redirected.
type Why string

// The reasons. The first three withhold the drawn prize. A guarantee applies if the urn
// gave no unit or a blank, or if the drawn prize is withheld. A moment replaces any drawn
// unit, even one of the same prize.
const (
	WhySoldOut   Why = "sold-out"
	WhyLimit     Why = "limit"
	WhyBudget    Why = "budget"
	WhyGuarantee Why = "guarantee"
	WhyMoment    Why = "moment"
)

// Draw is the answer to a Request: its awards in order of their ordinals.
type Draw struct {
	ID       string
	PoolID   string
	UserID   string
	Replayed bool
	Awards   []Award
	// Lives are the lives of the awards, if they were read. A life is nil if its award
	// has no steps and needs no claim.
	Lives []*Life
	// Receipt means that the answer has a receipt: the caller requested it, or the pool
	// gives one with every draw.
	Receipt bool
	// Signed is the receipt, if it was signed together with those of its batch.
	Signed Receipt
	// Signer signs the receipt, under the commitment that determines the awards. Rules are
	// the rules under which they were made, nil for none. Only new draws with a receipt
	// have both; for other draws the store must read them.
	Signer Signer
	Rules  *Rules
}

// HasCodes reports whether some award of the draw has a code.
func (d *Draw) HasCodes() bool {
	for i := range d.Awards {
		if d.Awards[i].HasCode {
			return true
		}
	}
	return false
}

// AsksStore reports whether the answer to the draw still lacks data from the store: its
// codes, or which awards must be claimed.
func (d *Draw) AsksStore() bool {
	for i := range d.Awards {
		if a := &d.Awards[i]; a.HasCode && a.Code == "" || a.AsksClaims {
			return true
		}
	}
	return false
}

// ErrorSealKeyMissing is the error of a pool whose codes this instance cannot unseal.
func ErrorSealKeyMissing(poolID string) *Error {
	return Errorf(CodeSealKeyMissing, "pool %q has codes, and this instance has no seal key that opens them", poolID)
}

// Wins reports whether some award of the draw is a win.
func (d *Draw) Wins() bool {
	for i := range d.Awards { // by index: an award is too large to be copied for this
		if d.Awards[i].Win() {
			return true
		}
	}
	return false
}

// Head identifies the state of a pool. Version counts the entries of its history; Mark
// is 64 random bits that were written with the last version. After a failover or a
// restore the same version may be a different state; equal heads mean equal histories
// (law 8).
type Head struct {
	Version int64
	Mark    int64
	// Trail contains the marks before Mark. With it, a reader that missed a few writes
	// can check whether its copy is an earlier state of this history.
	Trail Trail
}

// NewHead returns the head of a new history, before its first version.
func NewHead() Head { return Head{Mark: newMark()} }

// Next returns the head after n further versions. n is 0 for a change that makes no
// version of its own.
func (h Head) Next(n int) Head {
	return Head{Version: h.Version + int64(n), Mark: newMark(), Trail: h.Trail.push(h.Mark)}
}

// Is reports whether h and other are the same state.
//
//double:versions-only && h.Mark == other.Mark =>
func (h Head) Is(other Head) bool { return h.Version == other.Version && h.Mark == other.Mark }

// Follows reports whether h is other, or a later state of the same history. It also
// returns false if more writes lie between the two than the trail contains.
func (h Head) Follows(other Head) bool {
	//double:versions-only && h.Trail.has(other.Mark) =>
	return h.Is(other) || h.Version >= other.Version && h.Trail.has(other.Mark)
}

// Trail is a list of marks, 8 bytes each, newest first, at most [trailMax].
type Trail string

// trailMax is the maximum number of marks in a trail: more than the writes that other
// instances usually make between two reads of one instance.
const trailMax = 8

const markSize = 8

func (t Trail) push(mark int64) Trail {
	kept := t[:min(len(t), (trailMax-1)*markSize)]
	return Trail(binary.BigEndian.AppendUint64(nil, uint64(mark))) + kept
}

func (t Trail) has(mark int64) bool {
	for ; len(t) >= markSize; t = t[markSize:] {
		if int64(binary.BigEndian.Uint64([]byte(t[:markSize]))) == mark {
			return true
		}
	}
	return false
}

func newMark() int64 {
	var b [markSize]byte
	// Read never fails: without randomness it ends the program.
	_, _ = rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:]))
}

// Signer signs the receipts of a committed pool's draws.
type Signer interface {
	// Sign returns the receipts of the draws of one transaction. draws are the awards of
	// each draw, in order of their versions. rules are the rules that the draws were made
	// under, nil for none.
	Sign(draws [][]Award, rules *Rules) ([]Receipt, error)
}

// Receipt is a signed receipt. It is encoded only by the request that sends it, because
// all encoded receipts of a batch together would use much memory.
type Receipt interface {
	// AppendTo appends the receipt as JSON.
	AppendTo(b []byte) []byte
}

// EncodedReceipt is a receipt as JSON.
type EncodedReceipt []byte

// AppendTo implements Receipt.
func (r EncodedReceipt) AppendTo(b []byte) []byte { return append(b, r...) }

// HasReceiptToSign reports whether the draw is new and its receipt is not signed yet.
// The receipt of a replay is signed separately.
func (d *Draw) HasReceiptToSign() bool { return d.Signer != nil && d.Signed == nil && !d.Replayed }

// SignReceipts signs the receipts of the draws of one plan, in order of their versions.
// It must not be called before the plan is written. Otherwise a receipt of awards that
// are undone would be evidence against the log.
func SignReceipts(draws []*Draw) error {
	awards := make([][]Award, len(draws))
	for i, d := range draws {
		awards[i] = d.Awards
	}
	signed, err := draws[0].Signer.Sign(awards, draws[0].Rules)
	if err != nil {
		return err
	}
	for i, d := range draws {
		d.Signed = signed[i]
	}
	return nil
}

// SignReceipt returns the receipt of the draw. It signs the receipt separately unless
// it was signed with its batch. The draw must have a Signer.
func (d *Draw) SignReceipt() (Receipt, error) {
	if d.Signed != nil {
		return d.Signed, nil
	}
	signed, err := d.Signer.Sign([][]Award{d.Awards}, d.Rules)
	if err != nil {
		return nil, err
	}
	return signed[0], nil
}

// ErrorNoReceipt returns the error of a pool with secret numbers, whose draws have no
// receipts.
func ErrorNoReceipt(poolID string) error {
	return Errorf(CodeInvalidRequest, "receipt must be false: the numbers of pool %q are secret, so its draws have no receipts", poolID)
}

const (
	// erasedPrefix and a tag replace an erased user.
	erasedPrefix = "erased:"
	// tagSize is the size of a tag, in bytes.
	tagSize = 16
)

// ErasedUser returns the text that replaces an erased user in the awards of a committed
// pool. It contains the user's tag in the pool's public log.
func ErasedUser(tag string) string { return erasedPrefix + tag }

// ErasedTag returns the tag in a text that [ErasedUser] returned; erased is false for any
// other user. No request may have such a text as its user, because it would draw as the
// erased user.
func ErasedTag(user string) (tag string, erased bool) {
	tag, found := strings.CutPrefix(user, erasedPrefix)
	if !found {
		return "", false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(tag)
	return tag, err == nil && len(b) == tagSize
}
