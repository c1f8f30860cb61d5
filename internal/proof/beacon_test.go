package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/cloudflare/circl/ecc/bls12381"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest/drand"
)

// round1000 is a round that quicknet published.
var round1000 = draw.Round{
	Number: 1000, Signature: "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39",
}

// TestQuicknet: a real round of the Quicknet chain is valid only under its own number.
func TestQuicknet(t *testing.T) {
	b, err := ParseBeacon("quicknet")
	require.NoError(t, err)
	mixed, err := b.Mixed(round1000)
	require.NoError(t, err)
	signature, err := hex.DecodeString(round1000.Signature)
	require.NoError(t, err)
	require.Equal(t, sha256.Sum256(signature), mixed)
	_, err = b.Mixed(draw.Round{Number: 1001, Signature: round1000.Signature})
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
	again, err := ParseBeacon(b.String())
	require.NoError(t, err)
	require.Equal(t, b, again)
	require.Equal(t, "2023-08-23T15:59:24Z", b.At(1000).Format(time.RFC3339))
}

// malformed returns signatures that no round can have, by what is wrong with them.
func malformed(good string) map[string]string {
	outside := outsideSubgroup()
	return map[string]string{
		"upper case":       strings.ToUpper(good),
		"short":            good[:94],
		"long":             good + "00",
		"no digits":        "zz" + good[2:],
		"empty":            "",
		"uncompressed":     "0" + good[1:],
		"off the curve":    "80" + strings.Repeat("0", 92) + "01",
		"off the subgroup": hex.EncodeToString(outside[:]),
		"identity":         "c0" + strings.Repeat("0", 94),
		"beyond the field": "9f" + strings.Repeat("f", 94),
	}
}

// outsideSubgroup returns a point of the curve outside the subgroup that signatures must
// be in.
func outsideSubgroup() (point [48]byte) {
	// x = 4 is such a point: 4³ + 4 has a root.
	point[0], point[47] = 0x80, 4
	return point
}

// TestMalformedSignatures: every malformed signature is refused.
func TestMalformedSignatures(t *testing.T) {
	require.Error(t, new(bls12381.G1).SetBytes(func() []byte { p := outsideSubgroup(); return p[:] }()))
	chain := drand.New(t, 1_700_000_000, 3)
	b, err := ParseBeacon(chain.Beacon())
	require.NoError(t, err)
	good := chain.Sign(7)
	_, err = b.Mixed(draw.Round{Number: 7, Signature: good})
	require.NoError(t, err)
	for name, signature := range malformed(good) {
		_, err := b.Mixed(draw.Round{Number: 7, Signature: signature})
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), name)
	}
	for _, number := range []int64{0, -7, 8, RoundMax + 1} {
		_, err := b.Mixed(draw.Round{Number: number, Signature: good})
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "round %d", number)
	}
}

// TestBeaconText: a beacon has one canonical form, and its key is a point of G2.
func TestBeaconText(t *testing.T) {
	for _, none := range []string{"", "none"} {
		b, err := ParseBeacon(none)
		require.NoError(t, err)
		require.Nil(t, b)
		require.Equal(t, "none", b.String())
	}
	key := Quicknet().Key
	var identity bls12381.G2
	identity.SetIdentity()
	for _, text := range []string{
		"Quicknet", "fastnet", "none ", "bls-unchained-g1-rfc9380", "pedersen-bls-unchained " + key + " 1 3",
		"bls-unchained-g1-rfc9380 " + key + " 1",
		"bls-unchained-g1-rfc9380 " + key + " 1 3 4",
		"bls-unchained-g1-rfc9380 " + key + " 01 3",
		"bls-unchained-g1-rfc9380 " + key + "  1 3",
		"bls-unchained-g1-rfc9380 " + key + " 1 0",
		"bls-unchained-g1-rfc9380 " + key + " -1 3",
		"bls-unchained-g1-rfc9380 " + key + " 1 86401",
		"bls-unchained-g1-rfc9380 " + key + " 99999999999 3",
		"bls-unchained-g1-rfc9380 " + strings.ToUpper(key) + " 1 3",
		"bls-unchained-g1-rfc9380 " + key[2:] + " 1 3",
		"bls-unchained-g1-rfc9380 " + key[:190] + "5b 1 3",
		"bls-unchained-g1-rfc9380 " + hex.EncodeToString(identity.BytesCompressed()) + " 1 3",
		"bls-unchained-g1-rfc9380 " + hex.EncodeToString(bls12381.G2Generator().Bytes()) + " 1 3",
	} {
		_, err := ParseBeacon(text)
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), text)
	}
}

// TestNextRoundIsTwoPeriodsAhead: at any time between two rounds, the round to announce
// is the first one that comes at least two periods later.
func TestNextRoundIsTwoPeriodsAhead(t *testing.T) {
	b := &Beacon{Genesis: 1000, Period: 3}
	at := func(s int64, ns int64) time.Time { return time.Unix(s, ns) }
	for _, tc := range []struct {
		at   time.Time
		next int64
	}{
		{at(1000, 0), 3}, {at(1000, 1), 4}, {at(1001, 0), 4}, {at(1002, 999), 4}, {at(1003, 0), 4}, {at(1003, 1000), 5}, {at(1, 0), 1}, {at(994, 0), 1}, {at(994, 1), 2},
	} {
		next := b.Next(tc.at)
		require.Equal(t, tc.next, next, "at %v", tc.at)
		require.True(t, b.Announces(next, tc.at))
		require.False(t, next > 1 && b.Announces(next-1, tc.at), "a round before it would do at %v", tc.at)
	}
}

// TestCommitmentOfBeacon: a commitment states its beacon, and whether stock may be moved,
// each in one canonical form.
func TestCommitmentOfBeacon(t *testing.T) {
	c := &Commitment{Origin: worldOrigin, Epochs: 2, EpochLength: 3, Size: 4, Beacon: Quicknet()}
	for _, c.StockWhileOpen = range []bool{false, true} {
		read, err := ParseCommitment(c.Text())
		require.NoError(t, err)
		require.Equal(t, c, read)
	}
	text := c.Text()
	require.Contains(t, text, " 1692803367 3\nstock-while-open yes\nlog 4 ")
	for name, wrong := range map[string]string{
		"said twice":       strings.Replace(text, stockWhileOpen, stockWhileOpen+stockWhileOpen, 1),
		"said elsewhere":   stockWhileOpen + strings.Replace(text, stockWhileOpen, "", 1),
		"said no":          strings.Replace(text, "open yes", "open no", 1),
		"without a beacon": strings.Replace(text, c.Beacon.String(), "none", 1),
		"by its name":      strings.Replace(text, c.Beacon.String(), "quicknet", 1),
		"by nothing":       strings.Replace(text, c.Beacon.String(), "", 1),
	} {
		_, err := ParseCommitment(wrong)
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), name)
	}
}

// BenchmarkRound measures the cost of an opening.
func BenchmarkRound(b *testing.B) {
	for b.Loop() {
		if _, err := Quicknet().Mixed(round1000); err != nil {
			b.Fatal(err)
		}
	}
}
