package wire

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

func bound(c *gin.Context, into any) bool {
	err := c.ShouldBindJSON(into)
	if err != nil {
		c.JSON(http.StatusBadRequest, gin.H{"code": "invalid-request", "detail": err.Error()})
	}
	return err == nil
}

func (s server) read(answer func(c *gin.Context, book Book)) gin.HandlerFunc {
	return func(c *gin.Context) {
		book, err := s.ledger.Read(c.Request.Context(), c.Param("pool"))
		if err != nil {
			problem(c, err)
			return
		}
		answer(c, book)
	}
}

func (s server) postPool(c *gin.Context) {
	in := struct {
		ID     string `json:"id" binding:"required"`
		Prizes []struct {
			ID    string `json:"id"`
			Stock int64  `json:"stock"`
		} `json:"prizes"`
	}{}
	if !bound(c, &in) {
		return
	}
	prizes := make([]Prize, len(in.Prizes))
	for i, p := range in.Prizes {
		prizes[i] = Prize{ID: p.ID, Stocked: p.Stock}
	}
	if err := s.ledger.Create(c.Request.Context(), in.ID, prizes); err != nil {
		problem(c, err)
		return
	}
	c.JSON(http.StatusCreated, gin.H{"id": in.ID})
}

func (s server) postStock(c *gin.Context) {
	in := struct {
		Delta  int64  `json:"delta" binding:"required"`
		Reason string `json:"reason"`
	}{}
	if !bound(c, &in) {
		return
	}
	m := Move{Prize: c.Param("prize"), Delta: in.Delta, Reason: in.Reason, At: time.Now()}
	if err := s.ledger.Stock(c.Request.Context(), c.Param("pool"), m); err != nil {
		problem(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"prize": m.Prize, "delta": m.Delta})
}

// audit counts the awards themselves, so that it finds errors that the counters hide.
func audit(c *gin.Context, book Book) {
	counts := make(map[string]int64)
	for _, a := range book.Awards {
		counts[a.Prize]++
	}
	prizes, violations := []gin.H{}, []gin.H{}
	for _, p := range book.Prizes {
		over := max(counts[p.ID]-p.Stocked, 0)
		if over > 0 {
			detail := fmt.Sprintf("prize %s: %d awards of %d units", p.ID, counts[p.ID], p.Stocked)
			violations = append(violations, gin.H{"rule": "over-issued", "detail": detail})
		}
		prizes = append(prizes, gin.H{"prize": p.ID, "stocked": p.Stocked, "issued": p.Issued, "awards": counts[p.ID],
			"remaining": p.Stocked - p.Issued, "over_issued": over})
	}
	c.JSON(http.StatusOK, gin.H{"ok": len(violations) == 0, "pool": c.Param("pool"), "prizes": prizes, "violations": violations})
}

func awards(c *gin.Context, book Book) {
	var csv strings.Builder
	csv.WriteString("version,at,draw,ordinal,user,prize,name,value,unit\n")
	for _, a := range book.Awards {
		fmt.Fprintf(&csv, "%d,%s,%s,%d,%s,%s,%s,0,%d\n", a.Version, a.At.UTC().Format(time.RFC3339Nano), a.Draw, a.Ordinal,
			a.User, a.Prize, a.Prize, a.Unit)
	}
	c.Data(http.StatusOK, "text/csv; charset=utf-8", []byte(csv.String()))
}

func moves(c *gin.Context, book Book) {
	moves := []gin.H{}
	for _, m := range book.Moves {
		if fmt.Sprint(m.Version) == c.Query("after") {
			moves = []gin.H{}
			continue
		}
		moves = append(moves, gin.H{"version": m.Version, "prize": m.Prize, "delta": m.Delta, "reason": m.Reason, "at": m.At.UTC()})
	}
	c.JSON(http.StatusOK, gin.H{"moves": moves})
}
