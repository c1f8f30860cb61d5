package servertest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudgeSkipsOnlyWhatIsMissingAndOnlyAtHome(t *testing.T) {
	missing := &missingError{program: "postgres", packages: "postgresql"}
	for _, c := range []struct {
		err  error
		ci   string
		want verdict
	}{
		{missing, "", skip},
		{missing, "false", skip},
		{missing, "true", fail},
		{fmt.Errorf("start postgres: %w", missing), "", skip},
		{fmt.Errorf("start postgres: %w", missing), "true", fail},
		{errShort, "", skip},
		{errShort, "true", fail},
		{errors.New("it did not start"), "", fail},
		{errors.New("it did not start"), "true", fail},
	} {
		require.Equal(t, c.want, judge(c.err, c.ci), "%v, CI=%q", c.err, c.ci)
	}
}

func TestFindSaysWhatToInstall(t *testing.T) {
	k := kind{packages: "dragon-server", programs: map[string][]string{
		"sh":      {},
		"dragond": {"/usr/lib/dragon/*/bin/dragond"},
	}}
	_, err := k.find()
	missing, ok := errors.AsType[*missingError](err)
	require.True(t, ok, "%v", err)
	require.Contains(t, missing.Error(), "apt-get install dragon-server")

	delete(k.programs, "dragond")
	programs, err := k.find()
	require.NoError(t, err)
	require.FileExists(t, programs["sh"])
}

func TestEveryKindIsComplete(t *testing.T) {
	for _, name := range Kinds() {
		k := kinds()[name]
		require.NotEmpty(t, k.variable, name)
		require.NotEmpty(t, k.packages, name)
		require.NotEmpty(t, k.programs, name)
		require.Positive(t, k.ports, name)
		require.NotZero(t, k.stop, name)
		require.NotZero(t, k.discard, name)
	}
}
