package draw

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

// Limits of input. They keep every sum of units far from overflow and inside the
// integers that JSON readers represent exactly.
const (
	// IDMax is the maximum length of an id of a pool or prize, in bytes.
	IDMax = 64
	// KeyMax is the maximum length of an Idempotency-Key, in bytes.
	KeyMax = 128
	// UserMax is the maximum length of a user, in characters.
	UserMax = 128
	// NameMax is the maximum length of a name of a pool or prize, in characters.
	NameMax = 200
	// ReasonMax is the maximum length of a reason of a stock move, in characters.
	ReasonMax = 200
	// StockMax is the maximum number of units of one prize.
	StockMax = 1_000_000_000_000
	// PrizesMax is the maximum number of prizes that may be added to a pool: all of
	// them are read within one statement's timeout. Pools of 0.1.0 may have a million;
	// even then the sum of their StockMax is below 2^63.
	PrizesMax = 100_000
)

// ValueMax returns the maximum value of a prize; values have at most two decimals.
func ValueMax() decimal.Decimal { return decimal.New(999_999_999_999_99, -2) }

// CheckID returns an error unless s may be the id of a pool or a prize. The parameter
// what is pool or prize, for the message.
func CheckID(what, s string) error {
	if s == "" {
		return Errorf(CodeInvalidRequest, "%s is missing", what)
	}
	if len(s) > IDMax {
		return Errorf(CodeInvalidRequest, "%s is longer than %d characters", what, IDMax)
	}
	for i := range len(s) {
		c := s[i]
		alnum := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return Errorf(CodeInvalidRequest, "%s must match [a-z0-9][a-z0-9._-]{0,63}, not %q", what, s)
		}
	}
	return nil
}

// CheckUser returns an error unless s may be a user: 1 to UserMax printable characters,
// no blank at either end. Users are compared byte by byte.
func CheckUser(s string) error {
	if err := checkText("user", s, UserMax); err != nil {
		return err
	}
	if s[0] == ' ' || s[len(s)-1] == ' ' {
		return Errorf(CodeInvalidRequest, "user begins or ends with a blank")
	}
	return nil
}

// CheckName returns an error unless s may be the name of a pool or prize: 1 to NameMax
// printable characters. U+200C or a zero-width joiner is allowed between two of them,
// because Persian, Hindi and some emoji need it. No other invisible character is
// allowed.
func CheckName(what, s string) error { return checkJoined(what, s, NameMax) }

// checkJoined is checkText for a text that may have joiners between two characters.
func checkJoined(what, s string, lengthMax int) error {
	const joiners = "\u200C\u200D"
	if !utf8.ValidString(s) || !strings.ContainsAny(s, joiners) {
		return checkText(what, s, lengthMax)
	}
	if utf8.RuneCountInString(s) > lengthMax {
		return Errorf(CodeInvalidRequest, "%s is longer than %d characters", what, lengthMax)
	}
	for part := range strings.SplitSeq(strings.ReplaceAll(s, "\u200C", "\u200D"), "\u200D") {
		if part == "" {
			return Errorf(CodeInvalidRequest, "%s holds a zero-width joiner that does not stand between two characters", what)
		}
		if err := checkText(what, part, lengthMax); err != nil {
			return err
		}
	}
	return nil
}

// CheckReason returns an error unless s may be the reason of a stock move: 1 to
// ReasonMax printable characters.
func CheckReason(s string) error { return checkText("reason", s, ReasonMax) }

func checkText(what, s string, lengthMax int) error {
	if !utf8.ValidString(s) {
		return Errorf(CodeInvalidRequest, "%s is not valid UTF-8", what)
	}
	n := utf8.RuneCountInString(s)
	if n == 0 {
		return Errorf(CodeInvalidRequest, "%s is missing or empty", what)
	}
	if n > lengthMax {
		return Errorf(CodeInvalidRequest, "%s is longer than %d characters", what, lengthMax)
	}
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
		return Errorf(CodeInvalidRequest, "%s holds a character that is not printable", what)
	}
	if strings.TrimLeft(s, " ") == "" {
		return Errorf(CodeInvalidRequest, "%s has only blanks", what)
	}
	return nil
}

// CheckKey returns an error unless s may name a draw or a stock move: 1 to KeyMax
// printable ASCII characters.
func CheckKey(s string) error {
	if s == "" || len(s) > KeyMax {
		return Errorf(CodeInvalidRequest, "Idempotency-Key must have 1 to %d characters", KeyMax)
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return Errorf(CodeInvalidRequest, "Idempotency-Key must be printable ASCII")
		}
	}
	return nil
}

// CheckCount returns an error unless n units may be drawn at once.
func CheckCount(n int) error {
	if n < 1 || n > CountMax {
		return Errorf(CodeInvalidRequest, "count must be 1 to %d", CountMax)
	}
	return nil
}

// CheckState returns an error unless s is a state.
func CheckState(s State) error {
	switch s {
	case StateOpen, StatePaused, StateClosed:
		return nil
	}
	return Errorf(CodeInvalidRequest, "state must be open, paused or closed")
}

// ParseValue reads an amount of money: digits with at most two decimals, 0 to
// ValueMax. The empty string is 0.
func ParseValue(s string) (decimal.Decimal, error) {
	if s == "" {
		return decimal.Decimal{}, nil
	}
	whole, cents, dot := strings.Cut(s, ".")
	plain := whole != "" && len(whole) <= 12 && isDigits(whole) && (!dot || cents != "" && len(cents) <= 2 && isDigits(cents))
	if !plain {
		return decimal.Decimal{}, Errorf(CodeInvalidRequest, "value must be an amount such as \"19.90\", 0 to %s", ValueMax())
	}
	value, err := decimal.NewFromString(s)
	if err != nil {
		return decimal.Decimal{}, Wrap(CodeInvalidRequest, err, "value is not a number")
	}
	return value, nil
}

func isDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// Check returns an error unless the prize may be added to a pool.
func (p *Prize) Check() error {
	if err := CheckID("prize id", p.ID); err != nil {
		return err
	}
	if err := CheckName("prize name", p.Name); err != nil {
		return err
	}
	if p.Stocked < 0 || p.Stocked > StockMax {
		return Errorf(CodeInvalidRequest, "stock of prize %q must be 0 to %d", p.ID, StockMax)
	}
	if p.HasCodes && (!p.IsWin() || p.Stocked > p.Places) {
		return Errorf(CodeInvalidRequest, "prize %q has codes: it is of kind prize, and begins without stock, which comes with its codes", p.ID)
	}
	return p.CheckValue()
}

// CheckValue returns an error unless a prize of its kind may have its value.
func (p *Prize) CheckValue() error {
	switch p.Kind {
	case "", KindPrize:
	case KindBlank:
		if !p.Value.IsZero() {
			return Errorf(CodeInvalidRequest, "value of blank %q must be 0", p.ID)
		}
	default:
		return Errorf(CodeInvalidRequest, "kind of prize %q must be prize or blank", p.ID)
	}
	return checkValue("value of prize "+strconv.Quote(p.ID), p.Value)
}

func checkValue(what string, v decimal.Decimal) error {
	if v.IsNegative() || v.GreaterThan(ValueMax()) || !v.Equal(v.Truncate(2)) {
		return Errorf(CodeInvalidRequest, "%s must be 0 to %s with at most two decimals", what, ValueMax())
	}
	return nil
}

func errPrizesMax() error {
	return Errorf(CodeInvalidRequest, "a pool may hold %d prizes at most", PrizesMax)
}

// Check returns an error unless the pool may be created.
func (p *Pool) Check() error {
	if err := CheckID("pool id", p.ID); err != nil {
		return err
	}
	if err := CheckName("pool name", p.Name); err != nil {
		return err
	}
	if err := CheckCurrency(p.Currency); err != nil {
		return err
	}
	if len(p.Prizes) > PrizesMax {
		return errPrizesMax()
	}
	seen := make(map[string]bool, len(p.Prizes))
	for i := range p.Prizes {
		if err := p.Prizes[i].Check(); err != nil {
			return err
		}
		if seen[p.Prizes[i].ID] {
			return Errorf(CodeInvalidRequest, "prize id %q is there twice", p.Prizes[i].ID)
		}
		seen[p.Prizes[i].ID] = true
	}
	return nil
}

// Check returns an error unless the stocking is valid.
func (s *Stocking) Check() error {
	if s.Delta == 0 || s.Delta < -StockMax || s.Delta > StockMax {
		return Errorf(CodeInvalidRequest, "delta must be a whole number from -%d to %d, and not 0", StockMax, StockMax)
	}
	if err := CheckReason(s.Reason); err != nil {
		return err
	}
	if s.Key == "" {
		return nil
	}
	return CheckKey(s.Key)
}

// Admit returns an error unless the stocking may be applied to a prize: the stock of an
// endless blank cannot change, and no other blank can become endless. Error:
// CodeInvalidRequest.
func (s *Stocking) Admit(p *Prize) error {
	if p.IsEndless() {
		return Errorf(CodeInvalidRequest, "prize %q is an endless blank, whose stock does not change", p.ID)
	}
	return p.CheckFinite(p.Stocked + s.Delta)
}

// CheckFinite returns an error if the prize is a blank that would be endless with so many
// units. Error: CodeInvalidRequest.
func (p *Prize) CheckFinite(units int64) error {
	if p.Kind == KindBlank && units >= EndlessStock {
		return Errorf(CodeInvalidRequest, "blank %q would be endless; its stock must stay below %d", p.ID, EndlessStock)
	}
	return nil
}

// Cents returns a value in cents; values have at most two decimals.
func Cents(value decimal.Decimal) int64 { return value.Shift(2).IntPart() }
