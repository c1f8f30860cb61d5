package draw

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddressesThatAreShown: an address is accepted only if it is an https address that
// all browsers read in the same way.
func TestAddressesThatAreShown(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://shop.example", "https://shop.example:8443/a%20b?c=d#e", "https://[::1]/x"} {
		require.NoError(t, CheckAddress("link", good), good)
	}
	for _, bad := range []string{
		"", "/gold.png", "gold.png", "//shop.example/x", "http://shop.example", "HTTPS//x", "HTTPS://shop.example", "https://shop.example:65536", "https:", "https://", "https:shop.example", "https:///x", "https://:443/x",
		"javascript:alert(1)", "data:image/png;base64,AA", "https://u:p@shop.example", "https://u@shop.example", "https://shop.example\\@other.example",
		"https://shop.example/a b", "https://shop.example/\n", " https://shop.example", "https://shop.example/\x00", "https://shop.example/ü", "https://shop.example/\"><script>",
		"https://shop.example/" + strings.Repeat("a", AddressMax),
	} {
		require.Equal(t, CodeInvalidRequest, CodeOf(CheckAddress("link", bad)), bad)
	}
}

// TestDisplaysAreChecked: displayed names and texts are printable and bounded, as the
// names of prizes are.
func TestDisplaysAreChecked(t *testing.T) {
	t.Parallel()
	family := "\U0001F468\u200D\U0001F469\u200D\U0001F467"
	good := DisplayChange{Name: new("Für " + family), Text: new(strings.Repeat("ä", TextMax)), Picture: new(""), Link: new("https://shop.example")}
	require.NoError(t, good.Check())
	require.Equal(t, Display{Name: "Für " + family, Text: *good.Text, Link: "https://shop.example"}, good.Apply(Display{Name: "Old", Picture: "https://old.example"}))
	require.Equal(t, Display{Name: "Old"}, (&DisplayChange{Text: new("")}).Apply(Display{Name: "Old", Text: "Old"}), "what is not named stays")
	for _, bad := range []DisplayChange{
		{}, {Name: new(strings.Repeat("a", NameMax+1))}, {Text: new(strings.Repeat("a", TextMax+1))}, {Text: new("a\nb")}, {Text: new("a\u202eb")},
		{Name: new("\xff")}, {Picture: new("http://shop.example")},
	} {
		require.Equal(t, CodeInvalidRequest, CodeOf(bad.Check()))
	}
}
