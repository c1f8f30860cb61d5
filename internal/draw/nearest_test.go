package draw_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// TestNearestFindsMistypedWords: one letter in three may be wrong, and no other word is
// proposed.
func TestNearestFindsMistypedWords(t *testing.T) {
	t.Parallel()
	known := []string{"win", "odds", "fallback", "limits", "per", "max", "headset", "Europe/Berlin"}
	for word, nearest := range map[string]string{
		"limit": "limits", "Win": "win", "fallbcak": "fallback", "pre": "per", "mx": "max", "Headset": "headset", "haedset": "headset",
		"europe/berlin": "Europe/Berlin", "Europe/Berlín": "Europe/Berlin",
		"min": "win", "blacklist": "", "x": "", "": "", strings.Repeat("w", 65): "",
	} {
		require.Equal(t, nearest, draw.Nearest(word, known), word)
	}
	require.Equal(t, `; did you mean "limits"?`, draw.OrNearest("limit", known))
	require.Empty(t, draw.OrNearest("blacklist", known))
}
