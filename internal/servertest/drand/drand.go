// Package drand provides a beacon for tests: a chain like those of drand. Its one key
// signs every round, even a future one.
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

// Chain is a chain with its own key.
type Chain struct {
	key             *bls.PrivateKey[bls.KeyG2SigG1]
	public          string
	genesis, period int64
}

// New creates a chain. Its round 1 is at genesis, in seconds since 1970, and a round
// follows every period seconds.
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

// Beacon returns the text that names the chain in a commitment.
func (c *Chain) Beacon() string {
	return fmt.Sprintf("bls-unchained-g1-rfc9380 %s %d %d", c.public, c.genesis, c.period)
}

// Sign returns the signature of a round.
func (c *Chain) Sign(round int64) string {
	message := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(round)))
	return hex.EncodeToString(bls.Sign(c.key, message[:]))
}

// File returns drand's answer for a round.
func (c *Chain) File(round int64) string {
	signature := c.Sign(round)
	decoded, _ := hex.DecodeString(signature) // it is valid, because Sign encoded it
	return fmt.Sprintf(`{"round":%d,"randomness":"%x","signature":%q}`+"\n", round, sha256.Sum256(decoded), signature)
}

// ServeHTTP answers GET /public/ROUND for every round.
func (c *Chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	round, err := strconv.ParseInt(r.PathValue("round"), 10, 64)
	if err != nil || round < 1 {
		http.NotFound(w, r)
		return
	}
	_, _ = fmt.Fprint(w, c.File(round)) // an error would only reach a test
}

// Handler serves [Chain.ServeHTTP] at its path.
func (c *Chain) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /public/{round}", c)
	return mux
}
