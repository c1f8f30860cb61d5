package stock_test

import (
	"testing"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

func TestContract(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			stocktest.Run(t, dialect)
		})
	}
}
