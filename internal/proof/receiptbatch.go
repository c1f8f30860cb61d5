package proof

import (
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/draw"
)

// ReceiptBatch proves that the text of a receipt was signed together with others: the
// text is a leaf of an RFC 6962 tree, and the note signs the root of that tree.
type ReceiptBatch struct {
	// Note is signed by the pool's key. Its lines are HOST/POOL/receipts, the number of
	// leaves, and the root.
	Note string `json:"note"`
	// Index is the position of the leaf, from 0.
	Index int64 `json:"index"`
	// Hashes are the path of RFC 6962 from the leaf to the root, in Base64.
	Hashes []string `json:"hashes"`
}

const (
	// batchSuffix comes after the origin of a pool in the notes of batches.
	batchSuffix = "/receipts"
	// batchLeavesMax is the maximum number of receipts under one signature.
	batchLeavesMax = 1024
	// batchLeavesSigned is the maximum number of receipts that the service signs together.
	// With nine hashes a receipt is at most 700 bytes longer than one that is signed alone.
	// This holds for origins of at most 150 bytes.
	batchLeavesSigned = batchLeavesMax / 2
)

// Sign returns the receipts of the draws of one commit, in order of their versions. At
// most batchLeavesSigned of them share one signature. It implements draw.Signer.
func (r *Receipts) Sign(draws [][]draw.Award, rules *draw.Rules) ([]draw.Receipt, error) {
	signed := make([]draw.Receipt, 0, len(draws))
	for of := range slices.Chunk(draws, batchLeavesSigned) {
		if len(of) > 1 {
			var err error
			if signed, err = r.signBatch(signed, of, rules); err != nil {
				return nil, err
			}
			continue
		}
		receipt, err := r.Of(of[0], rules)
		if err != nil {
			return nil, err
		}
		single, err := json.Marshal(receipt)
		if err != nil {
			return nil, err
		}
		signed = append(signed, draw.EncodedReceipt(single))
	}
	return signed, nil
}

// signedBatch is the part that all receipts of a batch share.
type signedBatch struct {
	quotedNote []byte
	tree       receiptTree
}

// batchReceipt is the index-th receipt of a batch.
type batchReceipt struct {
	unsigned
	batch *signedBatch
	index int
}

// signBatch appends the receipts of 2 to batchLeavesMax draws, under one signature.
func (r *Receipts) signBatch(signed []draw.Receipt, draws [][]draw.Award, rules *draw.Rules) ([]draw.Receipt, error) {
	by := r.salts.tagger()
	batch := &signedBatch{}
	receipts := make([]batchReceipt, len(draws))
	leaves := make([]tlog.Hash, len(draws))
	room := 0
	for _, awards := range draws {
		room += r.room(awards)
	}
	texts := make([]byte, 0, room) // all texts, one after another
	for i, awards := range draws {
		u := r.write(texts[len(texts):], by, awards, rules)
		texts = texts[:min(len(texts)+len(u.text), cap(texts))]
		receipts[i] = batchReceipt{u, batch, i}
		leaves[i] = LeafHash(u.text)
		signed = append(signed, &receipts[i])
	}
	batch.tree = newReceiptTree(leaves)
	c := Checkpoint{Origin: r.origin + batchSuffix, Size: int64(len(draws)), Root: batch.tree.root()}
	batchNote, err := r.sign(c.Text())
	if err != nil {
		return nil, err
	}
	batch.quotedNote, _ = jsontext.AppendQuote(nil, batchNote) // the text is valid UTF-8
	return signed, nil
}

// AppendTo implements draw.Receipt. It appends the members of [Receipt] in order. It uses
// no reflection, because every draw of a pool may have a receipt.
func (r *batchReceipt) AppendTo(b []byte) []byte {
	b, _ = jsontext.AppendQuote(append(b, `{"text":`...), r.text) // the text is valid UTF-8
	b = append(append(append(b, `,"batch":{"note":`...), r.batch.quotedNote...), `,"index":`...)
	b = append(strconv.AppendInt(b, int64(r.index), 10), `,"hashes":[`...)
	b = r.batch.tree.appendPath(b, r.index)
	b = append(b, `]},"salt":"`...)
	b = base64.RawURLEncoding.AppendEncode(b, r.salt[:])
	if r.userSalt != (Salt{}) {
		b = append(b, `","user_salt":"`...)
		b = base64.RawURLEncoding.AppendEncode(b, r.userSalt[:])
	}
	return append(b, `"}`...)
}

// receiptTree is an RFC 6962 tree with all its hashes, level by level from the leaves to
// the root. If the last hash of a level has no sibling, it is also the last hash of the
// next level.
type receiptTree []receiptLevel

type receiptLevel struct {
	hashes []tlog.Hash
	// quoted contains the hashes as JSON texts, one after another, because each is part of
	// many paths.
	quoted []byte
}

// quotedSize is the size of a hash as a JSON text.
const quotedSize = (tlog.HashSize+2)/3*4 + 2

// newReceiptTree builds the tree over at least one leaf.
func newReceiptTree(leaves []tlog.Hash) (t receiptTree) {
	for hashes := leaves; ; {
		level := receiptLevel{hashes: hashes, quoted: make([]byte, 0, quotedSize*len(hashes))}
		above := make([]tlog.Hash, 0, (len(hashes)+1)/2)
		for pair := range slices.Chunk(hashes, 2) {
			h := pair[0]
			if len(pair) == 2 {
				h = tlog.NodeHash(pair[0], pair[1])
			}
			above = append(above, h)
			for i := range pair {
				level.quoted = append(base64.StdEncoding.AppendEncode(append(level.quoted, '"'), pair[i][:]), '"')
			}
		}
		t = append(t, level)
		if len(hashes) == 1 {
			return t
		}
		hashes = above
	}
}

func (t receiptTree) root() tlog.Hash { return t[len(t)-1].hashes[0] }

// appendPath appends the hashes that prove the i-th leaf, as elements of a JSON array.
func (t receiptTree) appendPath(b []byte, i int) []byte {
	isFirst := true
	for _, level := range t {
		if sibling := i ^ 1; sibling < len(level.hashes) {
			if !isFirst {
				b = append(b, ',')
			}
			isFirst = false
			b = append(b, level.quoted[quotedSize*sibling:quotedSize*(sibling+1)]...)
		}
		i >>= 1
	}
	return b
}

// check returns an error unless the key has signed the text together with others. Error:
// CodeInvalidRequest.
func (r *ReceiptBatch) check(text string, key note.Verifier) error {
	signed, err := Open([]byte(r.Note), key)
	if err != nil {
		return err
	}
	c, err := ParseCheckpoint(signed)
	if err != nil || c.Origin != key.Name()+batchSuffix || c.Size < 2 || c.Size > batchLeavesMax {
		return draw.Errorf(draw.CodeInvalidRequest, "the note is not that of a batch of receipts of %s", key.Name())
	}
	path := Inclusion{Index: r.Index, Hashes: r.Hashes}
	root, err := path.Root(c.Size, [][]byte{[]byte(text)})
	if err == nil && root != c.Root {
		err = draw.Errorf(draw.CodeInvalidRequest, "the text is not in the batch of receipts that the note signs")
	}
	return err
}
