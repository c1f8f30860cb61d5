package stock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/stocktest"
)

// TestRoundTrips counts the round trips of a batch, by a proxy between the store and
// PostgreSQL. There are two, one for the read and one for the write. A plan from the
// cached copy needs only the write. If rules count users, the read of their turns
// replaces the read of the pool.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	proxy := servertest.StartProxy(t, servertest.Postgres(t))
	s := stocktest.Open(t, proxy.URL(), stock.Options{})
	for name, o := range map[string]stock.TxOptions{"locked": {Lock: true}, "unlocked": {}, "fenced": {Fence: stock.Fence{Lock: "l", Token: 1}}} {
		stocktest.Pool(t, s, name, 1000)
		u := urn.NewUrn(name)
		version := int64(2)
		plan := func() *urn.Plan {
			p := stocktest.On(u, stocktest.Plan(name, version, "a", version-2, fmt.Sprint("d", version), fmt.Sprint("e", version)))
			version += 2
			return p
		}
		read := func() {
			tx, err := s.Read(t.Context(), u, o)
			require.NoError(t, err)
			defer tx.Rollback()
			require.NoError(t, tx.Write(t.Context(), plan()))
		}
		cached := func() {
			p := plan()
			require.NoError(t, s.Write(t.Context(), p, o))
			u.Head = p.To // what a settled plan does
		}
		counted := func() {
			tx, err := s.Resume(t.Context(), o)
			require.NoError(t, err)
			defer tx.Rollback()
			_, err = tx.Turns(t.Context(), u, []urn.Need{{Subject: "u", Counted: draw.CountedDraw}, {Subject: "v", Counted: draw.CountedWin, Windows: []int64{3}, Units: 2}})
			require.NoError(t, err)
			p := plan()
			p.Turns = []draw.Turn{{Subject: "u", Counted: draw.CountedDraw, Seq: version - 3, Version: version - 1}}
			require.NoError(t, tx.Write(t.Context(), p))
			u.Head = p.To
		}
		read() // the first call prepares the statements
		read()
		for range 5 {
			before := proxy.Turns()
			read()
			require.Equal(t, int64(2), proxy.Turns()-before, name)
		}
		tx, err := s.Read(t.Context(), u, o)
		require.NoError(t, err)
		tx.Rollback()
		for n := range 5 {
			before := proxy.Turns()
			cached()
			if n > 0 { // the first call prepares a statement
				require.Equal(t, int64(1), proxy.Turns()-before, name)
			}
		}
		for n := range 5 {
			before := proxy.Turns()
			counted()
			if n > 0 {
				require.Equal(t, int64(2), proxy.Turns()-before, name)
			}
		}
	}
}

// TestRoundTripsOfMoments: the write, which stays one round trip, also takes a moment.
// Pending moments are read once, and again after every change by others while a moment is
// pending. A pool whose moments are all taken costs as much as a pool that never had
// moments.
func TestRoundTripsOfMoments(t *testing.T) {
	t.Parallel()
	proxy := servertest.StartProxy(t, servertest.Postgres(t))
	s := stocktest.Open(t, proxy.URL(), stock.Options{})
	stocktest.Pool(t, s, "p", 1000)
	at := stocktest.InTime(t, s, "p", func(at time.Time) error {
		_, err := s.PlanItems(t.Context(), "p", []draw.Item{stocktest.MomentAt(at, "a"), stocktest.MomentAt(at, "a")}, "salt", "test")
		return err
	})
	stocktest.Await(t, s, at)
	require.NoError(t, s.RunDue(t.Context(), "p"))
	u := urn.NewUrn("p")
	turnsOf := func(do func()) int64 {
		before := proxy.Turns()
		do()
		return proxy.Turns() - before
	}
	read := func() {
		tx, err := s.Read(t.Context(), u, stock.TxOptions{})
		require.NoError(t, err)
		tx.Rollback()
	}
	taken := 0
	write := func() {
		ask := &urn.Ask{Request: draw.Request{PoolID: "p", UserID: "u", DrawID: fmt.Sprint("d", u.Version), Count: 1}}
		p := u.Plan([]*urn.Ask{ask}, s.Now())
		require.NoError(t, s.Write(t.Context(), p, stock.TxOptions{}))
		p.Settle()
		taken += len(p.Takes)
	}
	read()
	require.True(t, u.HasMoments())
	write() // prepares the statements
	require.Equal(t, int64(1), turnsOf(write))
	require.Equal(t, 2, taken)
	require.False(t, u.HasMoments())
	write()
	other := urn.NewUrn("p")
	tx, err := s.Read(t.Context(), other, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	require.False(t, other.HasMoments(), "they were taken")
	require.Equal(t, int64(1), turnsOf(read))
	require.Equal(t, int64(1), turnsOf(write))
}

// TestRoundTripsOfADueItem counts the statements of the transaction that carries out an
// item: the settings of a change, which find rows by key, are made once.
func TestRoundTripsOfADueItem(t *testing.T) {
	t.Parallel()
	proxy := servertest.StartProxy(t, servertest.Postgres(t))
	s := stocktest.Open(t, proxy.URL(), stock.Options{})
	var turns []int64
	for n := range 3 { // the first transactions prepare the statements
		pool := fmt.Sprint("p", n)
		stocktest.Pool(t, s, pool, 1000)
		at := stocktest.InTime(t, s, pool, func(at time.Time) error {
			_, err := s.PlanItem(t.Context(), pool, stocktest.StateAt(at, draw.StatePaused), "", "test")
			return err
		})
		stocktest.Await(t, s, at)
		before := proxy.Turns()
		require.NoError(t, s.RunDue(t.Context(), pool))
		turns = append(turns, proxy.Turns()-before)
	}
	require.Equal(t, int64(18), turns[2])
}

// TestRoundTripsOfClaims: in a pool without codes, a claim takes the same number of round
// trips with and without seal keys.
func TestRoundTripsOfClaims(t *testing.T) {
	t.Parallel()
	const awards = 6
	proxy := servertest.StartProxy(t, servertest.Postgres(t))
	s := stocktest.Open(t, proxy.URL(), stock.Options{})
	stocktest.UseSealKeys(t, s)
	stocktest.Pool(t, s, "p", awards)
	r, err := rules.Parse([]byte(`{"claims":{}}`))
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "p", r, nil, "test")
	require.NoError(t, err)
	keys := make([]string, awards)
	for i := range keys {
		keys[i] = fmt.Sprint("d", i)
	}
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", 3, "a", 0, keys...)))
	claim := func(i int) int64 {
		before := proxy.Turns()
		_, err := s.Claim(t.Context(), "p", keys[i], "u", 0, "test")
		require.NoError(t, err)
		return proxy.Turns() - before
	}
	claim(0) // the first calls prepare the statements
	claim(1)
	without := claim(2)
	stocktest.UseSealKeys(t, s, "k1")
	claim(3)
	require.Equal(t, claim(4), without)
}

// codedStore opens a store on PostgreSQL with the pool p, whose prize has the given
// codes. plan makes plans of two awards that have codes.
func codedStore(t *testing.T, url string, o stock.Options, lines []string) (s *stock.Store, u *urn.Urn, plan func(issued int64) *urn.Plan) {
	t.Helper()
	s = stocktest.Open(t, url, o)
	stocktest.CodedPool(t, s, "p")
	stocktest.ImportCodes(t, s, "p", lines)
	u = urn.NewUrn("p")
	tx, err := s.Read(t.Context(), u, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	return s, u, func(issued int64) *urn.Plan {
		p := stocktest.On(u, stocktest.Plan("p", u.Version, "card", issued, fmt.Sprint("d", issued), fmt.Sprint("e", issued)))
		for i := range p.Awards {
			p.Awards[i].HasCode = true
		}
		return p
	}
}

// TestRoundTripsOfCodes: a write reads the codes of its awards in its own round trip,
// after the commit. A write that meets a conflict reads none.
func TestRoundTripsOfCodes(t *testing.T) {
	t.Parallel()
	proxy := servertest.StartProxy(t, servertest.Postgres(t))
	lines := stocktest.CodeLines("AAAA", 12)
	s, u, plan := codedStore(t, proxy.URL(), stock.Options{}, lines)
	for issued := int64(0); issued < 10; issued += 2 {
		o := stock.TxOptions{Lock: issued%4 == 0}
		p, late := plan(issued), plan(issued)
		before := proxy.Turns()
		require.NoError(t, s.Write(t.Context(), p, o))
		d := draw.Draw{PoolID: "p", Awards: p.Awards}
		require.NoError(t, s.HandOut(t.Context(), "p", []*draw.Draw{&d}))
		if issued > 2 { // the first calls prepare the statements
			require.Equal(t, int64(1), proxy.Turns()-before)
		}
		for i := range d.Awards {
			require.Equal(t, issued > 0, d.Awards[i].Sealed != nil, "the first write prepares the read")
			require.Equal(t, lines[issued+int64(i)], d.Awards[i].Code)
		}
		require.ErrorIs(t, s.Write(t.Context(), late, o), engine.ErrConflict)
		for i := range late.Awards {
			require.Nil(t, late.Awards[i].Sealed)
		}
		u.Head = p.To
	}
	p := plan(10)
	require.NoError(t, s.Write(t.Context(), p, stock.TxOptions{}))
	p.Awards[0].Sealed, p.Awards[1].Sealed.Bytes[20] = nil, p.Awards[1].Sealed.Bytes[20]^1
	d := draw.Draw{PoolID: "p", Awards: p.Awards}
	require.NoError(t, s.HandOut(t.Context(), "p", []*draw.Draw{&d}), "what cannot be opened is read again")
	require.Equal(t, lines[10:], []string{d.Awards[0].Code, d.Awards[1].Code})
	stocktest.NoViolations(t, s, "p")
}

// TestCommitsOutliveTheReadOfCodes: if a write cannot read the codes after its commit,
// the commit is not in doubt. While a session excludes all readers of the codes, each
// write takes only a short time, however long a transaction may wait for a lock. That
// holds for connections that have read codes and for new ones. The codes are read when
// they are handed out. Later writes read their codes again, even if the table has
// changed.
func TestCommitsOutliveTheReadOfCodes(t *testing.T) {
	t.Parallel()
	const inTime = 2 * time.Second
	lines := stocktest.CodeLines("AAAA", 20)
	url := servertest.Postgres(t)
	s, u, plan := codedStore(t, url, stock.Options{LockWait: time.Minute}, lines)
	fresh := stocktest.Open(t, url, stock.Options{LockWait: time.Minute})
	d := draw.Draw{PoolID: "p"}
	write := func(s *stock.Store) (isRead bool) {
		bounded, cancel := context.WithTimeout(t.Context(), inTime)
		defer cancel()
		p := plan(int64(len(d.Awards)))
		require.NoError(t, s.Write(bounded, p, stock.TxOptions{}))
		u.Head = p.To
		d.Awards = append(d.Awards, p.Awards...)
		return p.Awards[0].Sealed != nil && p.Awards[1].Sealed != nil
	}
	write(s) // prepares the read
	require.True(t, write(s))
	tx, err := s.Engine().Write.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), `LOCK TABLE codes IN ACCESS EXCLUSIVE MODE`)
	require.NoError(t, err)
	require.False(t, write(s))
	require.False(t, write(s), "after a failed read")
	require.False(t, write(fresh), "on a new connection")
	require.NoError(t, tx.Rollback())
	write(s) // prepares the read
	require.True(t, write(s))
	_, err = s.Engine().Write.ExecContext(t.Context(), `ALTER TABLE codes ALTER COLUMN key_id TYPE varchar(40)`)
	require.NoError(t, err)
	require.False(t, write(s), "the prepared read has other columns")
	write(s) // prepares the read
	require.True(t, write(s))
	require.NoError(t, s.HandOut(t.Context(), "p", []*draw.Draw{&d}))
	for i := range d.Awards {
		require.Equal(t, lines[i], d.Awards[i].Code)
	}
}
