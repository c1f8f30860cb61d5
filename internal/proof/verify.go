package proof

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// The rules that a finding can name.
const (
	// RuleFile is broken by a file that is missing or not canonical.
	RuleFile = "file"
	// RuleSignature is broken by a note that the pool's key has not signed.
	RuleSignature = "signature"
	// RuleCommitment is broken by a commitment that contradicts the log.
	RuleCommitment = "commitment"
	// RuleReveal is broken by a seed that does not lead to the anchor, or that does not
	// cover the log's last draws.
	RuleReveal = "reveal"
	// RuleLine is broken by a line that is not canonical.
	RuleLine = "line"
	// RuleOrder is broken by a gap between versions, and by a time before that of the
	// previous entry.
	RuleOrder = "order"
	// RuleLife is broken by an entry that the state of the pool does not allow.
	RuleLife = "life"
	// RuleStock is broken by an impossible move or prize.
	RuleStock = "stock"
	// RuleRules is broken by rules that do not fit the prizes.
	RuleRules = "rules"
	// RuleDraw is broken by awards that do not form one complete draw with a new name.
	RuleDraw = "draw"
	// RuleMoment is broken by an award of a moment that was not due, and by a due moment
	// that was not given.
	RuleMoment = "moment"
	// RuleRefused is broken by an award of a draw that should have been refused.
	RuleRefused = "refused"
	// RuleAward is broken by an award that differs from the result of the seed and the
	// rules.
	RuleAward = "award"
	// RuleCheckpoint is broken by a root that the log does not have.
	RuleCheckpoint = "checkpoint"
	// RuleWitness is broken by a checkpoint that a witness has not cosigned.
	RuleWitness = "witness"
	// RuleKept is broken by a kept checkpoint that contradicts the log.
	RuleKept = "kept"
	// RuleReceipt is broken by an entry that a receipt promised and the log lacks.
	RuleReceipt = "receipt"
)

// VerifyOptions are the inputs of a verification in addition to the folder.
type VerifyOptions struct {
	// Key is the pool's verifier key; "" trusts the key in the folder.
	Key string
	// Kept are files that were published earlier: a commitment, a checkpoint, or
	// checkpoints that [JoinNotes] has joined.
	Kept [][]byte
	// Witnesses must have cosigned every checkpoint. They must also have cosigned the
	// announcement of each round before the round came.
	Witnesses []*Witness
	// Receipts are receipts, or answers that contain one, as JSON.
	Receipts [][]byte
	// Live accepts a pool that is not closed, and awards whose seed is not revealed. It also
	// accepts the folder of a running publisher. Entries after the last checkpoint are then
	// not read.
	Live bool
}

// Report is the result of a verification.
type Report struct {
	OK bool `json:"ok"` // nothing is wrong
	// Entries is the number of valid lines.
	Entries int64 `json:"entries"`
	// Entry is the first invalid entry, 0 if the fault is not in an entry. Rule and Detail
	// state what is wrong.
	Entry  int64  `json:"entry"`
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
	// Zones is the release of the time zones that the verification used. FolderZones is the
	// release that the folder names, "" for none.
	Zones       string `json:"zones"`
	FolderZones string `json:"folder_zones"`
	// From is the first version that was recomputed. Recomputed is the number of recomputed
	// awards.
	From       int64 `json:"-"`
	Recomputed int64 `json:"-"`
	Openings   int64 `json:"-"`
	// Passed is the number of announced rounds with which the pool was not opened.
	// StockWhileOpen means that the commitment allows moves of stock while the pool is open.
	Passed         int64 `json:"-"`
	StockWhileOpen bool  `json:"-"`
	// Skipped is the number of skipped versions. An operator who knows the seed could skip
	// unwanted numbers.
	Skipped int64 `json:"-"`
}

// finding is the error that ends a verification with a failed Report.
type finding struct {
	entry        int64
	rule, detail string
}

// Error implements error.
func (f *finding) Error() string { return fmt.Sprintf("entry %d: %s: %s", f.entry, f.rule, f.detail) }

func findf(entry int64, rule, format string, args ...any) error {
	return &finding{entry, rule, cut(fmt.Sprintf(format, args...), detailMax)}
}

// Verify checks the files of one pool. The signatures must cover its log. Every award
// after the commitment must follow from the committed seed, the stock, and the rules at
// its version. Verify returns an error only if reading fails. Faults of the files are in
// the report.
func Verify(files fs.FS, o VerifyOptions) (Report, error) {
	v := &verifier{files: files, options: o, folding: folding{drawn: newNames()}}
	err := v.run()
	r := Report{OK: err == nil, Entries: v.tree.Size(), From: v.first(), Recomputed: v.recomputed}
	r.Openings, r.Passed, r.Skipped = v.opened, v.passed, v.skipped
	r.Zones, r.FolderZones = rules.ZoneRelease, v.zones()
	r.StockWhileOpen = v.commitment != nil && v.commitment.StockWhileOpen
	if f, ok := errors.AsType[*finding](err); ok {
		r.Entry, r.Rule, r.Detail = f.entry, f.rule, f.detail
		if f.entry > 0 {
			r.Entries = min(r.Entries, f.entry-1)
		}
		return r, nil
	}
	return r, err
}

type verifier struct {
	files   fs.FS
	options VerifyOptions

	key        note.Verifier
	commitment *Commitment
	numbers    *Numbers // nil before the reveal
	// witnesses are the witnesses that the folder names. sightings are the checkpoints that
	// the witnesses of the options have signed.
	witnesses []*Witness
	sightings map[*Witness][]sighting
	checkpoints
	// signed are further signed roots that the tree must have.
	signed   []expected
	promised map[int64][]byte // the lines that receipts promise, by version
	// promisedOf is the first promised version of each draw that a receipt promises, by the
	// draw's tag.
	promisedOf map[string]int64
	folding
}

// expected is a root that the tree must have at a size.
type expected struct {
	Checkpoint
	rule string
}

func (v *verifier) run() error {
	for _, step := range []func() error{
		v.readKey, v.readCommitment, v.readWitnesses, v.readCheckpoints, v.readKept, v.readReceipts, v.readReveal, v.readRules, v.readLog,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) readKey() error {
	b, err := v.read("key")
	if err != nil {
		return err
	}
	text, ended := strings.CutSuffix(string(b), "\n")
	if !ended {
		return findf(0, RuleFile, "key is not one line")
	}
	if v.options.Key != "" && v.options.Key != text {
		return findf(0, RuleSignature, "the key of the folder is not the one that was given")
	}
	if v.key, err = Verifier(text); err != nil {
		return findf(0, RuleFile, "key: %s", draw.DetailOf(err))
	}
	return nil
}

func (v *verifier) readCommitment() error {
	b, err := v.read("commitment")
	if err != nil {
		return err
	}
	text, err := Open(b, v.key)
	if err != nil {
		return findf(0, RuleSignature, "commitment: %s", draw.DetailOf(err))
	}
	if v.commitment, err = ParseCommitment(text); err != nil {
		return findf(0, RuleCommitment, "%s", draw.DetailOf(err))
	}
	if v.commitment.Origin != v.key.Name() {
		return findf(0, RuleCommitment, "the origin is not the name of the key")
	}
	v.signed = append(v.signed, expected{Checkpoint{v.commitment.Origin, v.commitment.Size, v.commitment.Root}, RuleCommitment})
	return nil
}

func (v *verifier) readReveal() error {
	b, err := v.readOptional("reveal")
	if errors.Is(err, fs.ErrNotExist) && v.options.Live {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return findf(0, RuleFile, "there is no file reveal: the seed is not revealed yet; --live takes what can be checked before")
	}
	if err != nil {
		return err
	}
	seed, place, err := ParseReveal(string(b))
	if err != nil {
		return findf(0, RuleFile, "reveal: %s", draw.DetailOf(err))
	}
	var follows bool
	if v.numbers, follows = NewNumbers(v.commitment, v.commitment.Size+1, seed, place); !follows {
		return findf(0, RuleReveal, "the anchor does not follow from the seed %d", place)
	}
	return nil
}

// noLog returns the finding that the folder has no log. It states when the log will be
// published.
func (v *verifier) noLog() error {
	if _, err := fs.Stat(v.files, "reveal"); err != nil {
		return findf(0, RuleFile, "there is no file log.jsonl: it comes with the reveal, or before it where the publisher runs with --publish-entries live")
	}
	return findf(0, RuleFile, "there is no file log.jsonl")
}

// log opens the log, which may be packed.
func (v *verifier) log() (io.ReadCloser, *bufio.Reader, error) {
	f, err := v.open("log.jsonl")
	if err == nil {
		return f, bufio.NewReaderSize(f, LineMax), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if f, err = v.open("log.jsonl.gz"); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = v.noLog()
		}
		return nil, nil, err
	}
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, findf(0, RuleFile, "log.jsonl.gz: %v", err)
	}
	return f, bufio.NewReaderSize(unpacked, LineMax), nil
}
