package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"drawsvc/loadtest/harness"
)

const pool = "large"

const rules = `{"fallback":"none","disclose":true,"budget":{"max":"900000000.00"},"claims":{"within":"8760h"},
	"limits":[{"of":"draws","max":100,"per":"day"}],"low":[{"prize":"prize-0","below":10}]}`

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
	var prizes strings.Builder
	prizes.WriteString("prize,name,value,stock\n")
	for n := range s.prizes - 1 {
		fmt.Fprintf(&prizes, "prize-%d,Prize %d,1.00,%d\n", n, n, 2*s.awards/(s.prizes-1))
	}
	if err := upload(ctx, of+"/import", prizes.String(), http.StatusOK); err != nil {
		return err
	}
	if _, err := harness.Operate(ctx, http.MethodPut, of+"/rules", rules, http.StatusOK); err != nil {
		return err
	}
	var file strings.Builder
	file.WriteString("at,prize,delta,reason\n")
	tomorrow := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	for n := range 10_000 {
		fmt.Fprintf(&file, "%s,prize-%d,1,day\n", tomorrow.Add(time.Duration(n/400)*24*time.Hour).Format(time.RFC3339), n%(s.prizes-1))
	}
	return upload(ctx, of+"/agenda/import", file.String(), http.StatusCreated)
}

func upload(ctx context.Context, at, file string, want int) error {
	text, status, err := harness.Call(ctx, http.MethodPost, at, file, "Content-Type", "text/csv")
	if err == nil && status != want {
		err = fmt.Errorf("%s: %d %s", at, status, text)
	}
	return err
}
