package proof

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cloudflare/circl/sign/bls"

	"drawsvc/internal/draw"
)

// Beacon is a public source of randomness to which a pool is committed: a drand chain of
// the scheme [beaconScheme]. Its rounds are signatures that nobody can predict. The time
// of each round follows from a formula.
type Beacon struct {
	// Key is the chain's public key, a compressed point of G2 in lower-case
	// hexadecimal.
	Key string
	// Genesis is the time of round 1, in seconds since 1970; Period is the
	// number of seconds between two rounds, 1 to [PeriodMax].
	Genesis, Period int64
}

const (
	// PeriodMax is one day.
	PeriodMax = 86_400
	// RoundMax and genesisMax keep the time of a round far below the maximum time.
	RoundMax   = 1 << 36
	genesisMax = 1 << 36
	// announcedPeriods is the minimum time from the announcement of a round to the round, in
	// periods.
	announcedPeriods = 2
)

const (
	beaconScheme  = "bls-unchained-g1-rfc9380"
	beaconNone    = "none"
	beaconByName  = "quicknet"
	signatureSize = 48
)

// QuicknetURL is the address at which rounds of [Quicknet] are published: /public/ROUND
// below it.
const QuicknetURL = "https://api.drand.sh/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"

// Quicknet is the chain of the League of Entropy with a round every 3 seconds.
func Quicknet() *Beacon {
	return &Beacon{
		Key: "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d1064510" +
			"d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
		Genesis: 1_692_803_367, Period: 3,
	}
}

// ParseBeacon reads the value of --beacon: "none" or "", for which it returns nil,
// "quicknet", or the words of a commitment. Error: CodeInvalidRequest.
func ParseBeacon(text string) (*Beacon, error) {
	switch text {
	case "", beaconNone:
		return nil, nil //nolint:nilnil // no beacon is what the text says
	case beaconByName:
		return Quicknet(), nil
	}
	b := &Beacon{}
	_, err := fmt.Sscanf(text, beaconScheme+" %s %d %d", &b.Key, &b.Genesis, &b.Period)
	if err != nil || b.String() != text {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the beacon must be none, quicknet, or %s KEY GENESIS PERIOD", beaconScheme)
	}
	return b, b.Check()
}

// String returns the beacon's name in a commitment; for nil it is "none".
func (b *Beacon) String() string {
	if b == nil {
		return beaconNone
	}
	return fmt.Sprintf("%s %s %d %d", beaconScheme, b.Key, b.Genesis, b.Period)
}

// Check returns an error unless the beacon's members are in range and its key is a
// point of its group. Error: CodeInvalidRequest.
func (b *Beacon) Check() error {
	if b.Period < 1 || b.Period > PeriodMax {
		return draw.Errorf(draw.CodeInvalidRequest, "the period of a beacon must be 1 to %d seconds", PeriodMax)
	}
	if b.Genesis < 0 || b.Genesis > genesisMax {
		return draw.Errorf(draw.CodeInvalidRequest, "the genesis of a beacon must be 0 to %d seconds since 1970", int64(genesisMax))
	}
	_, err := b.key()
	return err
}

func (b *Beacon) key() (*bls.PublicKey[bls.KeyG2SigG1], error) {
	key := &bls.PublicKey[bls.KeyG2SigG1]{}
	decoded, err := hexadecimal(b.Key)
	if err == nil {
		err = key.UnmarshalBinary(decoded)
	}
	if err != nil || len(decoded) != 2*signatureSize || !key.Validate() {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "the key of a beacon must be a point of G2: %d lower-case hexadecimal digits", 4*signatureSize)
	}
	return key, nil
}

// hexadecimal decodes digits; it accepts lower case only.
func hexadecimal(s string) ([]byte, error) {
	if strings.ToLower(s) != s {
		return nil, hex.InvalidByteError(0)
	}
	return hex.DecodeString(s)
}

// At returns the time at which a round is published.
func (b *Beacon) At(round int64) time.Time {
	return time.Unix(b.Genesis+(round-1)*b.Period, 0).UTC()
}

// Next returns the first round that may be announced at a time: the first one that comes
// at least two periods later.
func (b *Beacon) Next(at time.Time) int64 {
	from := at.Unix() + announcedPeriods*b.Period - b.Genesis
	if at.Nanosecond() > 0 {
		from++
	}
	return max(0, (from+b.Period-1)/b.Period) + 1
}

// Announces reports whether a round may be announced at a time: it must come at least two
// periods later.
func (b *Beacon) Announces(round int64, at time.Time) bool {
	return !b.At(round).Before(at.Add(time.Duration(announcedPeriods*b.Period) * time.Second))
}

// Mixed returns the value that a round mixes into the keys of a pool: the SHA-256 of its
// signature. A signature of another round is refused with CodeInvalidRequest.
func (b *Beacon) Mixed(r draw.Round) (mixed [sha256.Size]byte, err error) {
	if !isSignature(r.Signature) {
		return mixed, draw.Errorf(draw.CodeInvalidRequest, "the signature of a round must be %d lower-case hexadecimal digits", 2*signatureSize)
	}
	key, err := b.key()
	if err != nil {
		return mixed, err
	}
	signature, _ := hex.DecodeString(r.Signature) // isSignature has checked the digits
	message := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(r.Number)))
	if r.Number < 1 || r.Number > RoundMax || !bls.Verify(key, message[:], signature) {
		return mixed, draw.Errorf(draw.CodeInvalidRequest, "the signature is not that of round %d of the beacon that the pool is committed to", r.Number)
	}
	return sha256.Sum256(signature), nil
}

func isSignature(s string) bool {
	b, err := hexadecimal(s)
	return err == nil && len(b) == signatureSize
}

// RoundFileMax is the maximum size of a beacon's answer, in bytes.
const RoundFileMax = 1 << 16

// ParseRound reads a round as drand publishes it: {"round","signature"}; other members
// are ignored. Error: CodeInvalidRequest.
func ParseRound(text []byte) (draw.Round, error) {
	var r struct {
		Round     int64  `json:"round"`
		Signature string `json:"signature"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&r); err != nil || r.Round < 1 || r.Signature == "" {
		return draw.Round{}, draw.Errorf(draw.CodeInvalidRequest, `the text is not a round: {"round":NUMBER,"signature":"HEXADECIMAL"}`)
	}
	return draw.Round{Number: r.Round, Signature: r.Signature}, nil
}
