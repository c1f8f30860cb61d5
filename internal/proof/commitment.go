package proof

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/draw"
)

// Limits of a commitment.
const (
	// EpochsMax bounds the memory for the chain in an instance: 65,536 seeds take 2 MiB.
	EpochsMax = 65_536
	// With EpochLengthMax, epochs · length stays far below the largest version.
	EpochLengthMax = 1 << 40
	// EpochsDefault and EpochLengthDefault together cover 268 million versions.
	EpochsDefault      = 256
	EpochLengthDefault = 1 << 20
)

const commitmentTitle = "drawsvc commitment v1"

// Commitment binds a pool before it opens: to a chain of seeds, by the chain's first
// seed, the anchor, and to all entries that the pool's log has so far.
type Commitment struct {
	// Origin is HOST/POOL, which is also the name of the pool's key.
	Origin string
	Anchor Seed
	// Epochs is the number of seeds after the anchor, 1 to EpochsMax. EpochLength is the
	// number of versions for each seed, 1 to EpochLengthMax.
	Epochs, EpochLength int64
	// Beacon is the beacon whose rounds every opening mixes in, nil for none.
	Beacon *Beacon
	// StockWhileOpen allows moves of stock while a pool with a beacon is open. An
	// operator who knows the seed can use such moves to influence results.
	StockWhileOpen bool
	// Size is the number of entries before the commitment's own entry. Root is the root
	// of the tree over these entries.
	Size int64
	Root tlog.Hash
}

// stockWhileOpen is the line of a commitment that weakens its beacon.
const stockWhileOpen = "stock-while-open yes\n"

// Text returns the commitment without its signatures.
func (c *Commitment) Text() string {
	weaker := ""
	if c.StockWhileOpen {
		weaker = stockWhileOpen
	}
	return fmt.Sprintf("%s\norigin %s\nanchor %s\nepochs %d\nepoch-length %d\nbeacon %s\n%slog %d %s\n", commitmentTitle,
		c.Origin, hex.EncodeToString(c.Anchor[:]), c.Epochs, c.EpochLength, c.Beacon, weaker, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// Hash returns the hash that identifies the commitment in the log and in every key.
func (c *Commitment) Hash() [sha256.Size]byte { return sha256.Sum256([]byte(c.Text())) }

// hex returns the hash in the form of the log.
func (c *Commitment) hex() string {
	hash := c.Hash()
	return hex.EncodeToString(hash[:])
}

// ParseCommitment reads the text of a commitment. Error: CodeInvalidRequest, also for a
// text that differs from the output of [Commitment.Text].
func ParseCommitment(text string) (*Commitment, error) {
	c := &Commitment{StockWhileOpen: strings.Contains(text, "\n"+stockWhileOpen)}
	lines := strings.Split(strings.Replace(text, stockWhileOpen, "", 1), "\n") // the comparison below checks where the line was
	if len(lines) != 8 {
		return nil, errNoCommitment()
	}
	var anchor, root string
	for i, read := range []func(string) (int, error){
		func(s string) (int, error) { return fmt.Sscanf(s, "origin %s", &c.Origin) },
		func(s string) (int, error) { return fmt.Sscanf(s, "anchor %s", &anchor) },
		func(s string) (int, error) { return fmt.Sscanf(s, "epochs %d", &c.Epochs) },
		func(s string) (int, error) { return fmt.Sscanf(s, "epoch-length %d", &c.EpochLength) },
		func(s string) (_ int, err error) {
			c.Beacon, err = ParseBeacon(strings.TrimPrefix(s, "beacon "))
			return 0, err
		},
		func(s string) (int, error) { return fmt.Sscanf(s, "log %d %s", &c.Size, &root) },
	} {
		if _, err := read(lines[i+1]); err != nil {
			return nil, errNoCommitment()
		}
	}
	rootBytes, err := base64.StdEncoding.DecodeString(root)
	if err != nil || copy(c.Root[:], rootBytes) != len(c.Root) {
		return nil, errNoCommitment()
	}
	anchorBytes, err := hex.DecodeString(anchor)
	if err != nil || copy(c.Anchor[:], anchorBytes) != len(c.Anchor) {
		return nil, errNoCommitment()
	}
	if c.Text() != text {
		return nil, errNoCommitment()
	}
	return c, c.Check()
}

func errNoCommitment() error {
	return draw.Errorf(draw.CodeInvalidRequest, "the text is no commitment in its one right form")
}

// Check returns an error unless the members are in range.
func (c *Commitment) Check() error {
	if err := CheckOrigin(c.Origin); err != nil {
		return err
	}
	if c.Epochs < 1 || c.Epochs > EpochsMax {
		return draw.Errorf(draw.CodeInvalidRequest, "epochs must be 1 to %d", EpochsMax)
	}
	if c.EpochLength < 1 || c.EpochLength > EpochLengthMax {
		return draw.Errorf(draw.CodeInvalidRequest, "epoch_length must be 1 to %d", int64(EpochLengthMax))
	}
	if c.StockWhileOpen && c.Beacon == nil {
		return draw.Errorf(draw.CodeInvalidRequest, "stock_while_open is for a pool with a beacon: without one, stock moves at any time")
	}
	if c.Size < 1 {
		return draw.Errorf(draw.CodeInvalidRequest, "a log has at least the entry that made its pool")
	}
	return nil
}

// Pool returns the id of the pool, which is the last part of the origin.
func (c *Commitment) Pool() string { return c.Origin[strings.LastIndexByte(c.Origin, '/')+1:] }

// CheckOrigin returns an error unless s can name a pool's log: HOST/POOL.
func CheckOrigin(s string) error {
	i := strings.LastIndexByte(s, '/')
	if i < 1 || !isHost(s[:i]) {
		return draw.Errorf(draw.CodeInvalidRequest,
			"the origin must be a host, perhaps with a path: 1 to 200 characters without blank, + or a slash at the end")
	}
	return draw.CheckID("the pool's id", s[i+1:])
}

// hostName matches a name, including names that are not ASCII.
var hostName = regexp.MustCompile(`^[\pL\pN_]([\pL\pN_-]*[\pL\pN_])?(\.[\pL\pN_]([\pL\pN_-]*[\pL\pN_])?)*$`)

// CheckHost returns an error unless pools may be committed under the host: a name or an
// address, with or without a port. Old commitments may also have a path before the pool;
// they can still be read.
func CheckHost(s string) error {
	name, port, err := net.SplitHostPort(s)
	if err != nil {
		name, port = strings.TrimSuffix(s, "]"), "1"
		if len(name) < len(s) {
			name = strings.TrimPrefix(name, "[")
		}
	}
	n, notPort := strconv.ParseUint(port, 10, 16)
	addr, notAddr := netip.ParseAddr(name)
	isName := hostName.MatchString(name)
	if strings.HasPrefix(s, "[") {
		isName = notAddr == nil && addr.Is6() && addr.Zone() == ""
	}
	if notPort != nil || n == 0 || !isHost(s) || !isName {
		return draw.Errorf(draw.CodeInvalidRequest,
			"the origin must be a host such as draws.example.org, perhaps with a port: no scheme, no path, and no more than 200 characters")
	}
	return nil
}

func isHost(s string) bool {
	return len(s) <= 200 && utf8.ValidString(s) && !strings.HasSuffix(s, "/") && !strings.Contains(s, "+") &&
		strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) < 0
}

// Epoch returns the epoch, counted from 0, of a version. committed is the version of the
// commitment's entry.
func (c *Commitment) Epoch(committed, version int64) int64 {
	return (version - committed - 1) / c.EpochLength
}
