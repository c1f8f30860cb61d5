package proof

import (
	"cmp"
	"encoding/hex"
	"fmt"

	"drawsvc/internal/draw"
)

// Reveal returns the text that reveals a seed. place is its position in the chain.
func Reveal(seed Seed, place int64) string {
	return fmt.Sprintf("%d %s\n", place, hex.EncodeToString(seed[:]))
}

// ParseReveal reads the output of [Reveal]. Error: CodeInvalidRequest.
func ParseReveal(text string) (seed Seed, place int64, err error) {
	var encoded string
	_, err = fmt.Sscanf(text, "%d %s\n", &place, &encoded)
	decoded, bad := hex.DecodeString(encoded)
	if cmp.Or(err, bad) != nil || copy(seed[:], decoded) != len(seed) || place < 1 || Reveal(seed, place) != text {
		return seed, 0, draw.Errorf(draw.CodeInvalidRequest, "the text reveals no seed in its one right form")
	}
	return seed, place, nil
}
