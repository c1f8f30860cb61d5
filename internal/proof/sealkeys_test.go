package proof

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"
	"filippo.io/age/plugin"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// pluginName is the name of a plugin. If this test binary is started under that name, it
// acts as the plugin.
const pluginName = "drawtest"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "age-plugin-"+pluginName {
		os.Exit(bePlugin())
	}
	os.Exit(m.Run())
}

// bePlugin acts as the plugin, whose recipients and identities contain those of age.
func bePlugin() int {
	p, err := plugin.New(pluginName)
	if err != nil {
		return 1
	}
	p.HandleRecipient(func(data []byte) (age.Recipient, error) { return age.ParseX25519Recipient(string(data)) })
	p.HandleIdentity(func(data []byte) (age.Identity, error) { return age.ParseX25519Identity(string(data)) })
	flags := flag.NewFlagSet(pluginName, flag.ContinueOnError)
	p.RegisterFlags(flags)
	if flags.Parse(os.Args[1:]) != nil {
		return 1
	}
	return p.Main()
}

// TestPlugins: secrets are sealed to a recipient of a plugin and to one of age itself.
// Either identity unseals them. The identity of a plugin that is not installed does not.
func TestPlugins(t *testing.T) {
	own, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	kept, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.Symlink(program, filepath.Join(folder, "age-plugin-"+pluginName)))
	path := os.Getenv("PATH")
	t.Setenv("PATH", folder+string(os.PathListSeparator)+path)
	recipient := plugin.EncodeRecipient(pluginName, []byte(kept.Recipient().String()))
	to, err := ParseRecipients("# two\r\n" + own.Recipient().String() + "\r\n\n" + recipient + "\n")
	require.NoError(t, err)
	sealed, err := to.Seal([]byte("secret"))
	require.NoError(t, err)
	byPlugin := plugin.EncodeIdentity(pluginName, []byte(kept.String()))
	for _, text := range []string{own.String(), byPlugin, "# the token\n" + byPlugin + "\n"} {
		by, err := ParseIdentities(text)
		require.NoError(t, err)
		secret, err := by.Unseal(sealed)
		require.NoError(t, err)
		require.Equal(t, "secret", string(secret))
	}
	by, err := ParseIdentities(byPlugin)
	require.NoError(t, err)
	t.Setenv("PATH", path)
	_, err = by.Unseal(sealed)
	require.Equal(t, draw.CodeSeedUnavailable, draw.CodeOf(err))
	require.ErrorContains(t, err, "age-plugin-"+pluginName)
}

// TestKeyErrorsDiscloseNoIdentity: an error discloses no part of a file of identities.
func TestKeyErrorsDiscloseNoIdentity(t *testing.T) {
	for _, text := range []string{"", "# none\n", "AGE-SECRET-KEY-1NONE", "AGE-PLUGIN-NONE", "age-plugin-x", "SECRET"} {
		_, err := ParseIdentities(text)
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), text)
		require.NotContains(t, draw.DetailOf(err), "NONE")
		require.NotContains(t, draw.DetailOf(err), "SECRET")
		_, err = ParseRecipients(text)
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), text)
	}
	pq, err := age.GenerateHybridIdentity()
	require.NoError(t, err)
	by, err := ParseIdentities(pq.String())
	require.NoError(t, err)
	to, err := by.Recipients()
	require.NoError(t, err)
	sealed, err := to.Seal([]byte("secret"))
	require.NoError(t, err)
	secret, err := by.Unseal(sealed)
	require.NoError(t, err)
	require.Equal(t, "secret", string(secret))
}
