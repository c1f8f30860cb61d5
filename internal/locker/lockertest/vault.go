package lockertest

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// vault is the resource that locks protect: a pool in a separate store. Writes to it have
// tokens.
type vault struct {
	mu     sync.Mutex
	store  *stock.Store
	writes int
}

const (
	vaultPool  = "vault"
	vaultStock = 1_000_000
)

func newVault(tb testing.TB) (*vault, error) {
	v := &vault{store: stocktest.Open(tb, "sqlite:"+filepath.Join(tb.TempDir(), "vault.db"), stock.Options{})}
	stocktest.Pool(tb, v.store, vaultPool, vaultStock)
	return v, nil
}

// write draws a unit with a token of a key, as external mode does. stock.ErrStaleToken
// means that a holder with a later token has already written. Each key has its own
// tokens.
func (v *vault) write(ctx context.Context, key string, token int64) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	urn := urn.NewUrn(vaultPool)
	tx, err := v.store.Read(ctx, urn, stock.TxOptions{Fence: stock.Fence{Lock: key, Token: token}})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	issued := vaultStock - urn.Remaining()
	v.writes++
	return tx.Write(ctx, stocktest.On(urn, stocktest.Plan(vaultPool, urn.Version, "a", issued, fmt.Sprint("draw-", v.writes))))
}

// audit returns an error unless the pool has issued the given number of units.
func (v *vault) audit(ctx context.Context, issued int64) error {
	a, err := v.store.Audit(ctx, vaultPool)
	if err != nil {
		return err
	}
	if !a.OK() || a.Prizes[0].Issued != issued || a.Prizes[0].Awards != issued {
		return fmt.Errorf("%d units should be issued, the audit says %+v", issued, a)
	}
	return nil
}

// issued returns the number of issued units.
func (v *vault) issued(ctx context.Context) (int64, error) {
	a, err := v.store.Audit(ctx, vaultPool)
	if err != nil {
		return 0, err
	}
	return a.Prizes[0].Issued, nil
}
