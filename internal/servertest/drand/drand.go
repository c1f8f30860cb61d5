// Package drand is a beacon of one's own for tests: a chain as drand's are, whose
// one key signs every round, also those to come.
package drand

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/cloudflare/circl/sign/bls"
	"github.com/stretchr/testify/require"
)

// Chain is a chain with a key of its own.
type Chain struct {
	key             *bls.PrivateKey[bls.KeyG2SigG1]
	public          string
	genesis, period int64
}

// New makes a chain whose round 1 comes at genesis, in seconds since 1970, and
// the others every period seconds.
func New(tb testing.TB, genesis, period int64) *Chain {
	tb.Helper()
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	key, err := bls.KeyGen[bls.KeyG2SigG1](secret, nil, nil)
	require.NoError(tb, err)
	public, err := key.PublicKey().MarshalBinary()
	require.NoError(tb, err)
	return &Chain{key, hex.EncodeToString(public), genesis, period}
}

// Beacon names the chain as a commitment does.
func (c *Chain) Beacon() string {
	return fmt.Sprintf("bls-unchained-g1-rfc9380 %s %d %d", c.public, c.genesis, c.period)
}

// Sign is the signature of a round.
func (c *Chain) Sign(round int64) string {
	message := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(round)))
	return hex.EncodeToString(bls.Sign(c.key, message[:]))
}

// File is what drand answers of a round.
func (c *Chain) File(round int64) string {
	signature := c.Sign(round)
	decoded, _ := hex.DecodeString(signature) // it was encoded just now
	return fmt.Sprintf(`{"round":%d,"randomness":"%x","signature":%q}`+"\n", round, sha256.Sum256(decoded), signature)
}

// ServeHTTP answers GET /public/ROUND for every round.
func (c *Chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	round, err := strconv.ParseInt(r.PathValue("round"), 10, 64)
	if err != nil || round < 1 {
		http.NotFound(w, r)
		return
	}
	_, _ = fmt.Fprint(w, c.File(round)) // to a test
}

// Handler is [Chain.ServeHTTP] at its place.
func (c *Chain) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /public/{round}", c)
	return mux
}
