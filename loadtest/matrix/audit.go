package main

import (
	"context"
	"fmt"
)

// audited is what the service says of a pool itself.
type audited struct {
	Prizes []auditedPrize `json:"prizes"`
}

type auditedPrize struct {
	Prize   string `json:"prize"`
	Stocked int64  `json:"stocked"`
	Awards  int64  `json:"awards"`
}

func audit(ctx context.Context, base, pool string) (audited, error) {
	var a audited
	err := fetch(ctx, base+"/admin/pools/"+pool+"/audit", &a)
	return a, err
}

// agree names every prize of which the service's audit, the script's count of
// the award log and the rows tell different things.
func agree(a audited, s *summary, r rows) []string {
	var faults []string
	if len(a.Prizes) != len(s.Prizes) || len(a.Prizes) != len(r.prizes) {
		faults = append(faults, fmt.Sprintf("audit, log and SQL know %d, %d and %d prizes", len(a.Prizes), len(s.Prizes), len(r.prizes)))
	}
	logged := make(map[string]counted)
	for _, p := range s.Prizes {
		logged[p.Prize] = p
	}
	for _, p := range a.Prizes {
		l, q := logged[p.Prize], r.prizes[p.Prize]
		if p.Awards != l.Awards || p.Awards != q.awards || p.Stocked != l.Stocked || p.Stocked != q.stocked {
			faults = append(faults, fmt.Sprintf("%s: audit %d of %d, log %d of %d, SQL %d of %d", p.Prize,
				p.Awards, p.Stocked, l.Awards, l.Stocked, q.awards, q.stocked))
		}
	}
	return faults
}
