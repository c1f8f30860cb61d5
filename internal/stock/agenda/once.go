package agenda

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/prizefile"
	"drawsvc/internal/stock/ledger"
)

// ImportAgenda plans the stock items of a file together, all or none, with a salt that is
// not stored. With a key, the file is planned only once: a second call with the same key
// returns the first result. Errors: those of the reader, CodeKeyReused if the key was
// used for another request, and those of PlanItems.
func (p *Planner) ImportAgenda(ctx context.Context, poolID string, file io.Reader, key, actor string) (draw.Planned, error) {
	items, encoding, err := prizefile.ReadAgenda(file)
	if err != nil {
		return draw.Planned{}, err
	}
	planned, err := p.planOnce(ctx, poolID, list{items: items, key: planKey{key, "import " + draw.NewSeal("", items).SHA256}}, actor)
	planned.Encoding = encoding
	return planned, err
}

// CheckAgendaFile returns the items that a file would plan now, and plans nothing. Errors:
// CodeInvalidRequest, which names the lines, CodePoolNotFound, CodePoolClosed, and those of
// the reader and the store.
func (p *Planner) CheckAgendaFile(ctx context.Context, poolID string, file io.Reader) ([]draw.Item, draw.Encoding, error) {
	items, encoding, err := prizefile.ReadAgenda(file)
	if err != nil {
		return nil, "", err
	}
	err = p.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		of, err := p.ledger.ReadRow(ctx, tx, poolID, "")
		if err != nil {
			return err
		}
		_, err = p.check(ctx, tx, of, items)
		return err
	})
	return items, encoding, err
}

// PlanMoment plans a moment in the same way as an import of one item: its answer does not
// show the moment. Errors: CodeKeyReused, and those of PlanItems.
func (p *Planner) PlanMoment(ctx context.Context, poolID string, item draw.Item, key, actor string) (draw.Planned, error) {
	items := []draw.Item{item}
	return p.planOnce(ctx, poolID, list{items: items, key: planKey{key, "import " + draw.NewSeal("", items).SHA256}}, actor)
}

// SpreadAgenda plans a schedule of one prize, all or none, with a salt that is not
// stored. ImportAgenda explains the key. Errors: CodeKeyReused, and those of PlanItems.
func (p *Planner) SpreadAgenda(ctx context.Context, poolID string, spread draw.Spread, key, actor string) (draw.Planned, error) {
	items, err := spread.Items(randomBelow)
	if err != nil {
		return draw.Planned{}, err
	}
	from, to := spread.From.UTC().Format(draw.TimeFormat), spread.To.UTC().Format(draw.TimeFormat)
	wanted := fmt.Sprintf("spread %s %d %s %s %s %q", spread.PrizeID, spread.Units, from, to, spread.Every, spread.Reason)
	if spread.IsMoments {
		wanted += " moments"
	}
	l := list{items: items, key: planKey{key, wanted}, hides: spread.Every == 0 || spread.IsMoments, from: spread.From, to: spread.To}
	return p.planOnce(ctx, poolID, l, actor)
}

func (p *Planner) planOnce(ctx context.Context, poolID string, l list, actor string) (draw.Planned, error) {
	if err := l.key.check(); err != nil {
		return draw.Planned{}, err
	}
	l.salt = l.key.salt(poolID)
	return p.planItems(ctx, poolID, l, actor)
}

// randomBelow returns an unpredictable number from 0 to n-1.
func randomBelow(n int64) int64 {
	i, err := rand.Int(rand.Reader, big.NewInt(n))
	if err != nil {
		panic("agenda: " + err.Error()) // Reader never fails
	}
	return i.Int64()
}

// planKey is the key of a request to plan items, together with a text of the request.
// Without a key, each request plans its items again.
type planKey struct{ key, wanted string }

// plannedBody is the body of the change that plans many items. A replay reads these
// members also from the body of a single item. Key is the mark of the key.
type plannedBody struct {
	Item   int64  `json:"item"`
	Count  int    `json:"count"`
	SHA256 string `json:"sha256"`
	Key    string `json:"key,omitempty"`
}

// saltLength is the length of the texts of [rand.Text], which have 5 bits in each letter.
const saltLength = 26

func (k planKey) check() error {
	if k.key == "" {
		return nil
	}
	return draw.CheckKey(k.key)
}

// salt returns the salt of the seal. It is random without a key. Otherwise it is derived
// from the key, so that a replay can return it although it is not stored. Such a salt is
// as hard to guess as the key.
func (k planKey) salt(poolID string) string {
	if k.key == "" {
		return rand.Text()
	}
	sum := hmac.New(sha256.New, []byte(k.key))
	_, _ = sum.Write([]byte("drawsvc agenda salt v1\n" + poolID)) // a hash accepts all texts
	return base32.StdEncoding.EncodeToString(sum.Sum(nil))[:saltLength]
}

// mark returns the mark of the key, which the change stores, in the form KEY:WANTED; it
// is "" without a key. KEY is a digest of the key. WANTED is a digest of the request
// under the key, so that a reader of the change cannot find hidden content by trial.
func (k planKey) mark() string {
	if k.key == "" {
		return ""
	}
	sum := hmac.New(sha256.New, []byte(k.key))
	_, _ = sum.Write([]byte("drawsvc agenda wanted v1\n" + k.wanted)) // a hash accepts all texts
	return k.begin() + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

// formerMark is the mark of releases up to 0.1.0, which had no hidden items.
func (k planKey) formerMark() string { return k.begin() + digestOf(k.wanted) }

// begin returns the part KEY: of the marks of a key.
func (k planKey) begin() string { return digestOf(k.key) + ":" }

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// plannedBy finds the items that a key has planned in a pool whose row is locked, and
// marks them as replayed. Error: CodeKeyReused if the key belongs to another request.
func (p *Planner) plannedBy(ctx context.Context, tx *sql.Tx, poolID string, key planKey) (planned draw.Planned, err error) {
	if key.key == "" {
		return planned, nil
	}
	// A digest may contain LIKE's wildcard for one letter, so the key of each row that is
	// found is compared.
	query := p.ledger.SelectChanges(poolID).Where(squirrel.Eq{"what": string(draw.WhatAgenda)}).
		Where(squirrel.Like{"body": `%"key":"` + key.begin() + `%`}).OrderBy("version")
	changes, err := ledger.SelectAll(ctx, tx, query, p.ledger.ScanChange(poolID))
	if err != nil {
		return planned, err
	}
	for _, c := range changes {
		var body plannedBody
		if err := json.Unmarshal([]byte(c.Body), &body); err != nil {
			return planned, draw.WrapInternal(err, "the record of version %d cannot be read", c.Version)
		}
		switch {
		case body.Key == key.mark(), body.Key == key.formerMark():
			seal := draw.Seal{Salt: key.salt(poolID), SHA256: body.SHA256}
			return draw.Planned{First: body.Item, Version: c.Version, Count: body.Count, Seal: seal, Replayed: true}, nil
		case strings.HasPrefix(body.Key, key.begin()):
			return planned, draw.Errorf(draw.CodeKeyReused, "the key %q was used to plan something else", key.key)
		}
	}
	return planned, nil
}

// plannedItem returns an item as it was when it was planned.
func (p *Planner) plannedItem(ctx context.Context, poolID string, number int64) (i draw.Item, err error) {
	query := p.ledger.SelectFrom("agenda", itemColumns()...).Where(squirrel.Eq{"pool_id": poolID, "item": number})
	err = p.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		found, err := ledger.SelectAll(ctx, tx, query, scanItem)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return draw.Errorf(draw.CodeInternal, "item %d of pool %q was planned, and is not there", number, poolID)
		}
		i = found[0]
		i.Done, i.Replayed = 0, true
		return nil
	})
	return i, err
}
