package setting

import (
	"fmt"

	"github.com/spf13/pflag"

	"drawsvc/internal/seal"
)

// SealKeysName is the name of the flag.
const SealKeysName = "seal-keys"

// SealKeysFlag is --seal-keys: the keys that seal and open values that the database
// must not show.
type SealKeysFlag struct {
	Path  string
	Flags *pflag.FlagSet
}

// Flag declares the flag.
func (s *SealKeysFlag) Flag(f *pflag.FlagSet) {
	s.Flags = f
	f.StringVar(&s.Path, SealKeysName, "", "`file` of the keys that seal the codes of prizes, one a line, the first seals; serve reads it again when it changes")
}

// Read returns the keys; without a file the set is empty.
func (s *SealKeysFlag) Read() (*seal.Keeper, error) {
	keeper := &seal.Keeper{}
	if s.Path == "" {
		return keeper, nil
	}
	text, err := ReadPrivate(s.Path)
	if err == nil {
		var ring *seal.Ring
		if ring, err = seal.ParseKeys(text); err == nil {
			keeper.Replace(ring)
		}
	}
	if err != nil {
		return nil, AsUsage(fmt.Errorf("--%s: %w", SealKeysName, err))
	}
	return keeper, nil
}
