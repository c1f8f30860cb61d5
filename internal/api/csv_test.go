package api

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEscapeFormulaIsForFormulasOnly(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"=1", "+1", "-1", "@x", "\tx", "\rx", "\uff1dx", "\uff0b", "\uff0d", "\uff20"} {
		require.Equal(t, "'"+field, escapeFormula(field))
	}
	for _, field := range []string{"", "gold", "1-1", "'=1"} {
		require.Equal(t, field, escapeFormula(field))
	}
}
