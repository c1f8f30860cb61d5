package http

import (
	"context"

	"drawsvc/internal/draw"
)

// Receipts signs what committed pools promise of draws, as JSON.
type Receipts interface {
	// Receipt is the receipt of a draw that was made. Errors: CodeInvalidRequest for a
	// pool whose numbers are secret, CodeNotFound where the secret of the tags was
	// destroyed, CodeSeedUnavailable, CodeRulesUnreadable.
	Receipt(ctx context.Context, d *draw.Draw) ([]byte, error)
	// DrawReceipt is the receipt of a draw in the log, and the proof that a
	// checkpoint covers it, nil where none does. Errors: CodeDrawNotFound,
	// CodeNotFound, CodeSeedUnavailable, CodeRulesUnreadable, CodeOverloaded.
	DrawReceipt(ctx context.Context, poolID, drawID string) (receipt, proof []byte, err error)
}

// writeReceipted answers with a draw and its receipt, which is signed on this
// request's goroutine, once the draw is durable. Where this instance cannot make the
// receipt, the draw is answered without it: a draw that was made is refused to nobody,
// and the log line of the request says why. A retry gets the receipt from an instance
// that can make it.
func (c call) writeReceipted(d *draw.Draw, asked bool) error {
	ctx := c.gin.Request.Context()
	if d.Signer == nil { // else nothing is read
		within, cancel := c.within(c.server.RequestTimeout)
		defer cancel()
		ctx = within
	}
	receipt, err := c.server.Store.Receipt(ctx, d)
	switch draw.CodeOf(err) {
	case "":
	case draw.CodeInvalidRequest:
		if asked {
			return err
		}
		fallthrough // a restore took the commitment back
	case draw.CodeNotFound, draw.CodeSeedUnavailable, draw.CodeRulesUnreadable, draw.CodeInternal:
		_ = c.gin.Error(err)
		c.writeDraw(d)
		return nil
	default:
		return &draw.Error{Code: draw.CodeOutcomeUnknown, Err: err, Detail: "the draw is made, and its receipt could not be read; the same Idempotency-Key gets both"}
	}
	c.replayed(d.Replayed)
	out := c.server.buffer()
	defer c.server.buffers.Put(out)
	*out = appendDraw((*out)[:0], d)
	*out = append((*out)[:len(*out)-len(answerEnd)], `,"receipt":`...)
	*out = append(append(*out, receipt...), answerEnd...)
	c.gin.Writer.Header()["Content-Type"] = c.server.headers.json
	c.write(200, *out)
	return nil
}

// answerEnd ends the answer to a draw.
const answerEnd = "}\n"

// drawReceipt answers GET /pools/{pool}/draws/{draw}/receipt.
func (s *Server) drawReceipt(c call) error {
	ctx, cancel := c.within(s.RequestTimeout)
	defer cancel()
	body, err := placed(ctx, c, func() ([]byte, error) {
		receipt, proof, err := s.Store.DrawReceipt(ctx, c.param("pool"), c.param("draw"))
		body := append([]byte(`{"receipt":`), receipt...)
		if proof != nil {
			body = append(append(body, `,"proof":`...), proof...)
		}
		return append(body, answerEnd...), err
	})
	if err != nil {
		return err
	}
	c.gin.Writer.Header()["Content-Type"] = s.headers.json
	c.write(200, body)
	return nil
}
