package main

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/proof"
)

const (
	pool   = "spring"
	origin = "draws.example.org/" + pool
	// restocks is how often the pool is restocked.
	restocks = 10
)

type operator struct {
	out        *bufio.Writer
	tree       proof.Tree
	line       []byte
	written    int64
	at         time.Time
	salts      proof.Salts
	signer     string
	key        string
	seed       proof.Seed
	commitment *proof.Commitment
	recompute  *fold.Recomputation
	checks     [][]byte
}

// write writes the files of a pool with the given number of awards to a folder. The
// pool has prizes, a blank and an endless blank. Two of three draws win, and stock is
// moved ten times. There are about the given number of checkpoints. It returns the size
// of the log in bytes.
func write(folder string, awards, checkpoints int64) (int64, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // what is published is for everybody
		return 0, err
	}
	log, err := os.Create(filepath.Join(folder, "log.jsonl"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }() // it is closed below if all went well
	o := &operator{out: bufio.NewWriterSize(log, 1<<20), at: time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC), salts: proof.NewSalts(), seed: proof.NewSeed()}
	if o.signer, o.key, err = proof.NewKey(origin); err != nil {
		return 0, err
	}
	if err := o.open(awards); err != nil {
		return 0, err
	}
	for i := range awards {
		if i%max(awards/restocks, 1) == 0 {
			if err := o.restock(awards); err != nil {
				return 0, err
			}
		}
		if i%max(awards/checkpoints, 1) == 0 {
			if err := o.check(); err != nil {
				return 0, err
			}
		}
		if err := o.award(i); err != nil {
			return 0, err
		}
	}
	o.put(&proof.Line{Kind: proof.KindClose})
	if err := cmp.Or(o.check(), o.files(folder), o.out.Flush(), log.Close()); err != nil {
		return 0, err
	}
	return o.written, nil
}

func (o *operator) put(l *proof.Line) int64 {
	o.at = o.at.Add(time.Millisecond)
	l.Version, l.At = o.tree.Size()+1, o.at
	o.line = l.Append(o.line[:0])
	o.tree.Add(o.line)
	_, _ = o.out.Write(o.line) // Flush returns the error
	o.written += int64(len(o.line))
	return l.Version
}

func (o *operator) open(awards int64) error {
	rules, err := rules.Parse([]byte(`{"win":"2/3","fallback":"none"}`))
	if err != nil {
		return err
	}
	o.put(&proof.Line{Kind: proof.KindCreated})
	prizes := []draw.Prize{
		{ID: "gold", Name: "Gold coin", Kind: draw.KindPrize, Value: decimal.RequireFromString("19.90"), Stocked: awards/50 + 1},
		{ID: "silver", Name: "Silver coin", Kind: draw.KindPrize, Value: decimal.RequireFromString("5.00"), Stocked: awards/5 + 1},
		{ID: "card", Name: "Card", Kind: draw.KindBlank, Stocked: awards / 2},
		{ID: "none", Name: "No win", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
	}
	for _, p := range prizes {
		l := &proof.Line{Kind: proof.KindStock, PrizeID: p.ID, Name: p.Name, Value: p.Value.StringFixed(2), IsBlank: !p.IsWin(), Reason: "created"}
		if l.IsEndless = p.IsEndless(); !l.IsEndless {
			l.Delta = p.Stocked
		}
		l.Salt = o.salts.StockSalt(o.tree.Size() + 1)
		o.put(l)
	}
	o.put(&proof.Line{Kind: proof.KindRules, Document: rules.Document()})
	o.commitment = &proof.Commitment{
		Origin: origin, Epochs: proof.EpochsDefault, EpochLength: proof.EpochLengthDefault, Size: o.tree.Size(), Root: o.tree.Root(),
	}
	o.commitment.Anchor = o.seed.Before(o.commitment.Epochs)
	hash := o.commitment.Hash()
	version := o.put(&proof.Line{Kind: proof.KindCommit, Hash: hex.EncodeToString(hash[:])})
	numbers, _ := proof.NewNumbers(o.commitment, version, o.seed, o.commitment.Epochs)
	o.recompute = fold.NewRecomputation(pool, numbers, []*draw.Rules{rules})
	for _, p := range prizes {
		if err := o.recompute.AddPrize(p); err != nil {
			return err
		}
	}
	if err := o.recompute.SetRules(rules, o.at); err != nil {
		return err
	}
	o.put(&proof.Line{Kind: proof.KindOpen})
	o.recompute.SetState(draw.StateOpen)
	return nil
}

func (o *operator) restock(awards int64) error {
	delta := awards/100 + 1
	o.put(&proof.Line{Kind: proof.KindStock, PrizeID: "gold", Delta: delta, Reason: "more", Salt: o.salts.StockSalt(o.tree.Size() + 1)})
	return o.recompute.Stock("gold", delta)
}

func (o *operator) award(i int64) error {
	name, version, at := fmt.Sprintf("draw-%d", i), o.tree.Size()+1, o.at.Add(time.Millisecond)
	a, err := o.recompute.Next(version, draw.Request{PoolID: pool, DrawID: name, UserID: "u", Count: 1}, 1, at)
	if err == nil {
		err = o.recompute.Take(&a)
	}
	o.put(&proof.Line{
		Kind: proof.KindAward, PrizeID: a.PrizeID, Unit: a.Unit, Draw: o.salts.DrawTag(name), Ordinal: 1, Count: 1,
		User: o.salts.UserOf(name, fmt.Sprint("user-", i), nil), Redirect: a.Redirect,
	})
	return err
}

func (o *operator) check() error {
	signed, err := proof.Sign((&proof.Checkpoint{Origin: origin, Size: o.tree.Size(), Root: o.tree.Root()}).Text(), o.signer)
	o.checks = append(o.checks, signed)
	return err
}

// files writes the public files besides the log. The revealed seed is written last: it
// shows that the files are complete.
func (o *operator) files(folder string) error {
	note, err := proof.Sign(o.commitment.Text(), o.signer)
	for _, f := range []struct {
		name    string
		content []byte
	}{
		{"key", []byte(o.key + "\n")}, {"commitment", note}, {"checkpoints", proof.JoinNotes(o.checks)}, {"checkpoint", o.checks[len(o.checks)-1]},
		{"reveal", []byte(proof.Reveal(o.seed, o.commitment.Epochs))},
	} {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, f.name), f.content, 0o644) //nolint:gosec // what is published is for everybody
		}
	}
	return err
}
