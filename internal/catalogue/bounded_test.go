package catalogue_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/catalogue"
	"drawsvc/internal/draw"
)

// TestParseIsBounded: a catalogue of the maximum length takes little memory, whatever its
// items are. The broken double decodes the whole list before it counts the items; that
// takes a hundred times the list's length in memory.
func TestParseIsBounded(t *testing.T) { //nolint:paralleltest // it measures the heap
	filled := func(item string) []byte {
		list := strings.Repeat(item+",", (catalogue.BodyMax-30)/(len(item)+1))
		return []byte(`{"prizes":[` + strings.TrimSuffix(list, ",") + `]}`)
	}
	var many strings.Builder
	for i := range catalogue.PrizesMax + 1 {
		fmt.Fprintf(&many, `{"id":"p%d"},`, i)
	}
	allocated := func(parse func()) int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		parse()
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	const most = 64 << 20
	for about, bomb := range map[string][]byte{
		"empty items": filled(`{}`), "the same item": filled(`{"id":"a"}`), "nulls": filled(`null`),
		"too many": []byte(`{"prizes":[` + strings.TrimSuffix(many.String(), ",") + `]}`),
	} {
		require.Less(t, allocated(func() {
			_, err := catalogue.Parse(bomb)
			require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), about)
		}), int64(most), about)
	}
	require.Greater(t, allocated(func() {
		var whole struct{ Prizes []catalogue.Item }
		require.NoError(t, json.Unmarshal(filled(`{}`), &whole))
	}), int64(most), "the double")
}
