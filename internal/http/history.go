package http

import (
	"context"
	"errors"
	"fmt"
	"math"
	nethttp "net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"drawsvc/internal/draw"
)

const (
	// limitMax is the most entries in one page.
	limitMax = 1000
	// limitUsual is the length of a page when the caller names none.
	limitUsual = 100
)

// page is what a caller asks of a pool's log.
type page struct {
	poolID string
	after  int64
	limit  int
}

func pageParams(c *gin.Context) (page, error) {
	poolID, err := poolParam(c)
	if err != nil {
		return page{}, err
	}
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return page{}, draw.Errorf(draw.CodeInvalidRequest, "the query cannot be read")
	}
	after, limit := int64(0), int64(limitUsual)
	for name, values := range query {
		switch name {
		case "after":
			after, err = number(name, values, 0, math.MaxInt64)
		case "limit":
			limit, err = number(name, values, 1, limitMax)
		default:
			err = draw.Errorf(draw.CodeInvalidRequest, "the query may hold after and limit, nothing else")
		}
		if err != nil {
			return page{}, err
		}
	}
	return page{poolID, after, int(limit)}, nil
}

func number(name string, values []string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < least || n > most || len(values) > 1 || values[0][0] == '+' {
		return 0, draw.Errorf(draw.CodeInvalidRequest, "%s must be one whole number from %d to %d", name, least, most)
	}
	return n, nil
}

type awardsAnswer struct {
	Awards []awardAnswer `json:"awards"`
	// Next is the after of the next page, null when this is the last.
	Next *int64 `json:"next"`
}

type awardAnswer struct {
	Version int64  `json:"version"`
	At      string `json:"at"`
	Draw    string `json:"draw"`
	Ordinal int    `json:"ordinal"`
	User    string `json:"user"`
	Prize   string `json:"prize"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Unit    int64  `json:"unit"`
}

// awards answers GET /admin/pools/{pool}/awards.
func (s *Server) awards(c *gin.Context) {
	p, err := pageParams(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	if wantsCSV(c.Request.Header) {
		s.exportAwards(c, p)
		return
	}
	ctx, cancel := s.within(c)
	defer cancel()
	// One more than asked for says whether there is a next page.
	found, err := s.History.Awards(ctx, p.poolID, p.after, p.limit+1)
	if err != nil {
		s.fail(c, err)
		return
	}
	var answer awardsAnswer
	if len(found) > p.limit {
		found = found[:p.limit]
		answer.Next = &found[p.limit-1].Version
	}
	answer.Awards = make([]awardAnswer, len(found))
	for i := range found {
		a := &found[i]
		answer.Awards[i] = awardAnswer{
			a.Version, formatTime(a.At), a.DrawID, a.Ordinal, a.UserID, a.PrizeID, a.PrizeName, a.Value.StringFixed(2), a.Unit,
		}
	}
	s.writeJSON(c, nethttp.StatusOK, answer)
}

type movesAnswer struct {
	Moves []moveAnswer `json:"moves"`
	// Next is the after of the next page, null when this is the last.
	Next *int64 `json:"next"`
}

type moveAnswer struct {
	Version int64  `json:"version"`
	At      string `json:"at"`
	Prize   string `json:"prize"`
	Delta   int64  `json:"delta"`
	Reason  string `json:"reason"`
	Stocked int64  `json:"stocked"`
	Issued  int64  `json:"issued"`
}

// moves answers GET /admin/pools/{pool}/moves.
func (s *Server) moves(c *gin.Context) {
	p, err := pageParams(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	ctx, cancel := s.within(c)
	defer cancel()
	found, err := s.History.Moves(ctx, p.poolID, p.after, p.limit+1)
	if err != nil {
		s.fail(c, err)
		return
	}
	var answer movesAnswer
	if len(found) > p.limit {
		found = found[:p.limit]
		answer.Next = &found[p.limit-1].Version
	}
	answer.Moves = make([]moveAnswer, len(found))
	for i := range found {
		m := &found[i]
		answer.Moves[i] = moveAnswer{m.Version, formatTime(m.At), m.PrizeID, m.Delta, m.Reason, m.Stocked, m.Issued}
	}
	s.writeJSON(c, nethttp.StatusOK, answer)
}

type auditAnswer struct {
	OK         bool               `json:"ok"`
	Pool       string             `json:"pool"`
	Version    int64              `json:"version"`
	Prizes     []prizeAuditAnswer `json:"prizes"`
	Violations []violationAnswer  `json:"violations"`
}

type prizeAuditAnswer struct {
	Prize      string `json:"prize"`
	Stocked    int64  `json:"stocked"`
	Issued     int64  `json:"issued"`
	Awards     int64  `json:"awards"`
	Remaining  int64  `json:"remaining"`
	OverIssued int64  `json:"over_issued"`
}

type violationAnswer struct {
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// audit answers GET /admin/pools/{pool}/audit. It reads every row of the pool
// and so gets more time than other calls.
func (s *Server) audit(c *gin.Context) {
	poolID, err := poolParam(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	unhurried(c, s.limits.audit+10*time.Second)
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.limits.audit)
	defer cancel()
	a, err := s.History.Audit(ctx, poolID)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = &draw.Error{Code: draw.CodeStoreUnavailable, Err: err, Detail: fmt.Sprintf(
			"the audit took longer than %s; the command drawsvc audit has no limit", s.limits.audit)}
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	s.writeJSON(c, nethttp.StatusOK, newAudit(&a))
}

func newAudit(a *draw.Audit) auditAnswer {
	answer := auditAnswer{OK: a.OK(), Pool: a.PoolID, Version: a.Version}
	for _, p := range a.Prizes {
		answer.Prizes = append(answer.Prizes, prizeAuditAnswer{
			p.PrizeID, p.Stocked, p.Issued, p.Awards, p.Remaining, p.OverIssued,
		})
	}
	for _, v := range a.Violations {
		answer.Violations = append(answer.Violations, violationAnswer(v))
	}
	return answer
}
