package harness_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/harness"
)

func TestTailFindsTheAddressOnceTheLineIsWhole(t *testing.T) {
	output := harness.NewTail(4 << 10)
	for _, part := range []string{`{"msg":"listening","addr`, `ess":"127.0.0.1:80`, "80\"}\n", "listening again on 127.0.0.1:9\n"} {
		_, err := output.Write([]byte(part))
		require.NoError(t, err)
	}
	assert.Equal(t, "127.0.0.1:8080", <-output.Address)
}
