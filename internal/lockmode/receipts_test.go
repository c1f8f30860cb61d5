package lockmode_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// promisedIn returns a function that reads the receipt of a draw. It returns the lines
// that the pool's log must have for the draw.
func promisedIn(t *testing.T, s *stock.Store, pool string) func(*stock.Store, *draw.Draw) []byte {
	t.Helper()
	key := keyOf(t, s, pool)
	return func(s *stock.Store, d *draw.Draw) []byte {
		t.Helper()
		r := receiptOf(t, s, d)
		p, err := r.Open(key)
		require.NoError(t, err)
		require.NoError(t, p.Opens(d.ID, d.UserID))
		return bytes.Join(p.Encoded, nil)
	}
}

// receiptOf returns the receipt with which a service answers a draw.
func receiptOf(t *testing.T, s *stock.Store, d *draw.Draw) (r proof.Receipt) {
	t.Helper()
	if d.Signer == nil {
		r, err := s.Receipt(t.Context(), d)
		require.NoError(t, err)
		return r
	}
	text, err := d.SignReceipt()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text.AppendTo(nil), &r))
	return r
}

func keyOf(t *testing.T, s *stock.Store, pool string) note.Verifier {
	text, err := s.Published(t.Context(), pool, "key")
	require.NoError(t, err)
	key, err := proof.Verifier(strings.TrimSuffix(string(text), "\n"))
	require.NoError(t, err)
	return key
}

// testReceipts: the lines of a receipt equal those of the log, byte for byte. This holds
// for new draws and replays, and at any instance. It also holds if the rules have changed
// since the draw.
func testReceipts(t *testing.T, a *arena) {
	pool := a.committed(t, 40, 100)
	services := a.three(t)
	var made []draw.Draw
	var signer draw.Signer
	lines := map[string][]byte{}
	promised := promisedIn(t, a.store(0), pool)
	for round, rules := range []string{
		"",
		`{"odds":{"of":10,"prizes":{"silver":4,"gold":2}},"fallback":"none","guarantee":{"after":2,"prize":"silver"}}`,
		`{"fallback":"none","budget":{"max":"40.00","per":"hour"}}`,
		`{"fallback":"none","budget":{"max":"60.00","per":"hour"},"blocked":["user-8"]}`,
	} {
		if rules != "" {
			a.setRules(t, round, pool, rules)
		}
		var answers []<-chan answer
		for i := range 30 {
			r := named(pool, fmt.Sprint("receipt-", round, "-", i))
			r.UserID, r.Count, r.Receipt = fmt.Sprint("user-", i%7), 1, true
			if i%10 == 9 {
				r.Count = 10
			}
			answers = append(answers, ask(t, services[i%instances], r))
		}
		for i, from := range answers {
			got := receive(t, from)
			require.NoError(t, got.err)
			require.True(t, got.draw.Signer != nil || got.draw.Replayed || a.lock != "", "a new draw says under which rules it was made")
			if got.draw.Signer != nil {
				signer = got.draw.Signer
			}
			made = append(made, got.draw)
			lines[got.draw.ID] = promised(a.store(i), &got.draw)
		}
	}
	redirects, before := 0, 0
	for i := range made {
		d := &made[i]
		again := receive(t, ask(t, services[(i+1)%instances], draw.Request{PoolID: pool, UserID: d.UserID, DrawID: d.ID, Named: true, Count: len(d.Awards), Receipt: true}))
		require.NoError(t, again.err)
		require.True(t, again.draw.Replayed)
		require.Nil(t, again.draw.Signer)
		require.Equal(t, string(lines[d.ID]), string(promised(a.store(i+2), &again.draw)))
		redirects += bytes.Count(lines[d.ID], []byte(`"why":`))
		// The broken double is a receipt under the current rules.
		again.draw.Signer, again.draw.Awards = signer, d.Awards
		require.Nil(t, again.draw.Signed, "a replay is signed by itself")
		if r := receiptOf(t, a.store(i), &again.draw); !strings.Contains(r.Note, string(lines[d.ID])) {
			before++
		}
	}
	require.Positive(t, redirects)
	require.Positive(t, before, "rules that count nobody came between")
	a.setState(t, 0, pool, draw.StateClosed)
	_, err := a.store(0).Reveal(t.Context(), pool)
	require.NoError(t, err)
	_, files := stocktest.Export(t, a.store(0), pool)
	log, err := fs.ReadFile(files, "log.jsonl")
	require.NoError(t, err)
	for i := range made {
		require.True(t, bytes.Contains(log, lines[made[i].ID]), "%s", lines[made[i].ID])
	}
	a.provenAndErased(t, pool, made, lines, log)
}

// provenAndErased: the receipts are proven to be in the log. If a user is erased, the log
// does not change, and nothing else of the user remains.
func (a *arena) provenAndErased(t *testing.T, pool string, made []draw.Draw, lines map[string][]byte, log []byte) {
	ctx, key := t.Context(), keyOf(t, a.store(0), pool)
	hold := func(i int) {
		d := &made[i]
		r, included, err := a.store(i).DrawReceipt(ctx, pool, d.ID)
		require.NoError(t, err)
		p, err := r.Open(key)
		require.NoError(t, err)
		require.Equal(t, string(lines[d.ID]), string(bytes.Join(p.Encoded, nil)))
		_, err = p.Includes(included, key)
		require.NoError(t, err)
	}
	for i := 0; i < len(made); i += 9 {
		hold(i)
	}
	const user = "user-3"
	n, err := a.store(1).EraseUser(ctx, pool, user, stock.Pseudonym([]byte("key"), pool, user), "cleo")
	require.NoError(t, err)
	require.Positive(t, n)
	lawful(t, a.store(0), pool)
	entries, err := a.store(0).Log(ctx, pool, 0, 10_000)
	require.NoError(t, err)
	for _, e := range entries {
		require.True(t, e.Award == nil || e.Award.UserID != user)
	}
	dir, files := stocktest.Export(t, a.store(2), pool)
	after, err := fs.ReadFile(files, "log.jsonl")
	require.NoError(t, err)
	require.Equal(t, string(log), string(after))
	r, err := proof.Verify(files, proof.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	a.secondVerifies(t, dir)
	erased := 0
	for i := range made {
		if made[i].UserID == user {
			hold(i)
			erased++
		}
	}
	require.Positive(t, erased)
	n, err = a.store(0).EraseUser(ctx, pool, user, "another", "cleo")
	require.NoError(t, err)
	require.Zero(t, n, "there is nothing left")
}

// testReceiptsOfMany: draws that share a transaction with those of other pools have
// their own receipts.
func testReceiptsOfMany(t *testing.T, a *arena) {
	pools := make([]string, 4)
	for i := range pools {
		pools[i] = a.pool(t, 30, 10)
		a.setState(t, 0, pools[i], draw.StatePaused)
		require.NoError(t, stocktest.Commit(t, a.store(0), pools[i], 4, 16))
		a.setState(t, 0, pools[i], draw.StateOpen)
	}
	secret := a.pool(t, 100)
	services := a.three(t)
	for i := range 6 {
		var answers []<-chan answer
		for _, pool := range append(pools, secret) {
			r := named(pool, fmt.Sprint("many-receipts-", i))
			r.Count, r.Receipt = 1+i, true
			answers = append(answers, ask(t, services[i%instances], r))
		}
		for j, from := range answers {
			got := receive(t, from)
			if j == len(pools) {
				require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(got.err), "%v", got.err)
				continue
			}
			require.NoError(t, got.err)
			promised := promisedIn(t, a.store(i), got.draw.PoolID)
			of := promised(a.store(i), &got.draw)
			require.Equal(t, string(of), string(promised(a.store(i), &draw.Draw{ID: got.draw.ID, PoolID: got.draw.PoolID, UserID: got.draw.UserID, Awards: got.draw.Awards})))
		}
	}
	require.Empty(t, awardsOf(t, a.store(0), secret), "nothing happened")
}
