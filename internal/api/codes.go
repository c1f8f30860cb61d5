package api

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"drawsvc/internal/draw"
)

// ImportedCodes is the result of an import of codes, or the expected result of its dry
// run.
type ImportedCodes struct {
	Pool    string `json:"pool"`
	Prize   string `json:"prize"`
	Added   int64  `json:"added"`
	Skipped int64  `json:"skipped"`
	Places  int64  `json:"places"`
	Stocked int64  `json:"stocked"`
	Reserve int64  `json:"reserve"`
	Version int64  `json:"version"`
	// SHA256 and Salt are null for a dry run.
	SHA256   *string `json:"sha256"`
	Salt     *string `json:"salt"`
	DryRun   bool    `json:"dry_run"`
	Replayed bool    `json:"replayed"`
}

// ShowImportedCodes converts the result of an import of codes to its response type.
func ShowImportedCodes(w *draw.CodeImport, done *draw.ImportedCodes) ImportedCodes {
	shown := ImportedCodes{
		Pool: w.PoolID, Prize: w.PrizeID, Added: done.Added, Skipped: done.Skipped, Places: done.Places, Stocked: done.Stocked,
		Reserve: done.Places - done.Stocked, Version: done.Version, DryRun: w.DryRun, Replayed: done.Replayed,
	}
	if done.Seal != (draw.Seal{}) {
		shown.SHA256, shown.Salt = &done.Seal.SHA256, &done.Seal.Salt
	}
	return shown
}

// CodeCounts are the counts of a prize's codes.
type CodeCounts struct {
	Pool    string `json:"pool"`
	Prize   string `json:"prize"`
	Places  int64  `json:"places"`
	Stocked int64  `json:"stocked"`
	Issued  int64  `json:"issued"`
	Reserve int64  `json:"reserve"`
	// Keys has the number of rows that each seal key has sealed, by the id of the key.
	Keys map[string]int64 `json:"keys"`
}

// ShowCodeCounts converts the counts of a prize's codes to their response type.
func ShowCodeCounts(poolID, prizeID string, c *draw.CodeCounts) CodeCounts {
	return CodeCounts{poolID, prizeID, c.Places, c.Stocked, c.Issued, c.Places - c.Stocked, c.Keys}
}

func codesPath(poolID, prizeID string) string { return poolPath(poolID, "prizes", prizeID, "codes") }

// ImportCodes imports the codes of a file. Calls with the same key import them once.
// Without a key, a retry is not reported as a replay. It ignores the actor of w. Errors:
// CodeInvalidRequest, CodePoolNotFound, CodePrizeNotFound, CodePrizeHasNoCodes,
// CodeKeyReused, CodeSealKeyMissing, CodeBodyTooLarge, CodeOverloaded.
func (c *Client) ImportCodes(ctx context.Context, w *draw.CodeImport, file io.Reader) (ImportedCodes, error) {
	query := url.Values{}
	for name, is := range map[string]bool{"reserve": w.Reserve, "skip": w.Skip, "dry_run": w.DryRun} {
		if is {
			query.Set(name, "true")
		}
	}
	call := newImport(codesPath(w.PoolID, w.PrizeID)+"?"+query.Encode(), w.Key, file)
	call.ContentType, call.IsNamed = typePlain, !w.DryRun
	done, err := fetch[ImportedCodes](ctx, c, call)
	done.Replayed = done.Replayed && w.Key != ""
	return done, err
}

// CodeCounts counts the codes of a prize. Errors: CodePoolNotFound, CodePrizeNotFound,
// CodePrizeHasNoCodes.
func (c *Client) CodeCounts(ctx context.Context, poolID, prizeID string) (CodeCounts, error) {
	return fetch[CodeCounts](ctx, c, newCall(http.MethodGet, codesPath(poolID, prizeID)))
}

// DropCodes removes codes from the end of a prize's reserve. Errors: CodePoolNotFound,
// CodePrizeNotFound, CodePrizeHasNoCodes, CodeCodesMissing.
func (c *Client) DropCodes(ctx context.Context, poolID, prizeID string, count int64) (CodeCounts, error) {
	return fetch[CodeCounts](ctx, c, newCall(http.MethodDelete, codesPath(poolID, prizeID)+"?count="+strconv.FormatInt(count, 10)))
}
