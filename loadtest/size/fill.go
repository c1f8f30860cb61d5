package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"drawsvc/internal/seal"
	"drawsvc/internal/stock/stocktest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

const (
	rules = `{"fallback":"none","disclose":true,"budget":{"max":"900000000.00"},"claims":{"within":"8760h"},
	"limits":[{"of":"draws","max":100,"per":"day"}],"low":[{"prize":"prize-0","below":10}]}`
	// oldRules are rules that older releases know, too.
	oldRules = `{"fallback":"none","disclose":true,"budget":{"max":"900000000.00"},"limits":[{"of":"draws","max":100,"per":"day"}]}`
)

// makePools creates the pools, and the agenda of the large one.
func makePools(ctx context.Context, at string, s settings) error {
	for n := range s.pools - 1 {
		p := harness.Pool{ID: fmt.Sprintf("pool-%03d", n), Name: fmt.Sprint("Pool ", n), Prizes: harness.TenPrizes(1000)}
		if err := harness.MakePool(ctx, at, p); err != nil {
			return err
		}
	}
	if err := harness.MakePool(ctx, at, harness.Pool{ID: pool, Name: "Large", Prizes: []harness.Prize{}}); err != nil {
		return err
	}
	of := at + "/admin/pools/" + pool
	if _, err := harness.Operate(ctx, http.MethodPost, of+"/prizes", `{"id":"none","name":"No luck","kind":"blank"}`, http.StatusCreated); err != nil {
		return err
	}
	for n := range s.coded() {
		if err := makeCoded(ctx, of, n, s); err != nil {
			return err
		}
	}
	var prizes strings.Builder
	prizes.WriteString("prize,name,value,stock\n")
	for n := s.coded(); n < s.prizes-1; n++ {
		fmt.Fprintf(&prizes, "prize-%d,Prize %d,1.00,%d\n", n, n, s.stock())
	}
	if err := upload(ctx, of+"/import", prizes.String(), "text/csv", http.StatusOK); err != nil {
		return err
	}
	document := rules
	if s.old {
		document = oldRules
	}
	if _, err := harness.Operate(ctx, http.MethodPut, of+"/rules", document, http.StatusOK); err != nil {
		return err
	}
	var file strings.Builder
	file.WriteString("at,prize,delta,reason\n")
	tomorrow := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	for n := range 10_000 {
		prize := s.coded() + n%(s.prizes-1-s.coded()) // an item of an agenda can add units with codes only if the prize has codes in reserve
		fmt.Fprintf(&file, "%s,prize-%d,1,day\n", tomorrow.Add(time.Duration(n/400)*24*time.Hour).Format(time.RFC3339), prize)
	}
	return upload(ctx, of+"/agenda/import", file.String(), "text/csv", http.StatusCreated)
}

// makeCoded creates a prize of the large pool whose units have codes, and codes in reserve.
func makeCoded(ctx context.Context, of string, n int, s settings) error {
	id := fmt.Sprint("prize-", n)
	body := fmt.Sprintf(`{"id":%q,"name":"Prize %d","value":"1.00","codes":true}`, id, n)
	if _, err := harness.Operate(ctx, http.MethodPost, of+"/prizes", body, http.StatusCreated); err != nil {
		return err
	}
	for query, count := range map[string]int{"": s.stock(), "?reserve=true": s.codes / s.coded()} {
		var codes strings.Builder
		for k := range count {
			fmt.Fprintf(&codes, "%s-%d-%d\n", strings.ToUpper(id), len(query), k)
		}
		if err := upload(ctx, of+"/prizes/"+id+"/codes"+query, codes.String(), "text/plain", http.StatusCreated); err != nil {
			return err
		}
	}
	return nil
}

func upload(ctx context.Context, at, file, kind string, want int) error {
	text, status, err := harness.Call(ctx, http.MethodPost, at, file, "Content-Type", kind)
	if err == nil && status != want {
		err = fmt.Errorf("%s: %d %s", at, status, text)
	}
	return err
}

// fill adds the awards of the large pool, and the rows that belong to them. These are
// turns (which count a user's draws), steps, and the statements of past days.
func fill(ctx context.Context, url string, s settings) error {
	db, err := place.Open(url, "_pragma=busy_timeout(60000)") // the service writes, too
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	large := stocktest.Large{Pool: pool, Prizes: s.prizes - 1, Awards: s.awards, Users: max(1, s.awards/10)}
	if !s.old {
		large.Stepped, large.Days = s.awards/10, 90
	}
	return large.Fill(ctx, db)
}

// sealKeys returns the flag of the service that names a file of seal keys.
func sealKeys(folder string) ([]string, error) {
	line, err := seal.NewLine("k1")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "seal-keys")
	return []string{"--seal-keys", path}, os.WriteFile(path, []byte(line+"\n"), 0o600)
}
