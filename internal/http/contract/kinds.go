package contract

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Kinds checks a sample of many exchanges, because checking each would slow the
// measurement. Of each kind it checks the first, and then the second, the fourth, the
// eighth and so on.
//
// A kind is a call, its status and its problem code, the names of its headers, and the
// members of both bodies with their types. So an undescribed member, header, code or
// status is found when it first occurs.
type Kinds struct {
	contract *Contract

	mu   sync.Mutex
	seen map[string]int
}

// NewKinds returns a judge by a contract.
func NewKinds(c *Contract) *Kinds { return &Kinds{contract: c, seen: map[string]int{}} }

// Check checks an exchange as [Contract.Check] does, if the exchange is in the sample.
func (k *Kinds) Check(x Exchange) error {
	kind := k.kindOf(&x)
	k.mu.Lock()
	k.seen[kind]++
	n := k.seen[kind]
	k.mu.Unlock()
	if n&(n-1) != 0 {
		return nil
	}
	return k.contract.Check(x)
}

// Counts returns the number of exchanges so far, and of their kinds.
func (k *Kinds) Counts() (exchanges, kinds int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range k.seen {
		exchanges += n
	}
	return exchanges, len(k.seen)
}

func (k *Kinds) kindOf(x *Exchange) string {
	var b strings.Builder
	b.WriteString(x.Request.Method + " ")
	if o, _ := k.contract.Find(x.Request.Method, x.Request.URL.EscapedPath()); o != nil {
		b.WriteString(o.Path)
	}
	b.WriteString(" " + strconv.Itoa(x.Status))
	names := slices.Sorted(maps.Keys(x.Header))
	b.WriteString(" " + strings.Join(names, ",") + " " + x.Header.Get("Content-Type") + " ")
	writeShape(&b, x.Received)
	if x.wasTaken() {
		b.WriteString(" ?" + strings.Join(slices.Sorted(maps.Keys(x.Request.URL.Query())), ","))
		b.WriteString(" " + strconv.FormatBool(x.Request.Header.Get("Idempotency-Key") != "") + " ")
		writeShape(&b, x.Sent)
	}
	if x.Status >= http.StatusBadRequest {
		b.WriteString(" " + codeOf(x.Received))
	}
	return b.String()
}

// writeShape writes the members of a body and their types.
func writeShape(b *strings.Builder, body []byte) {
	var value any
	if json.Unmarshal(body, &value) != nil {
		b.WriteString("text")
		return
	}
	b.WriteString(shape(value))
}

func shape(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var members []string
		for name, member := range v {
			members = append(members, name+":"+shape(member))
		}
		slices.Sort(members)
		return "{" + strings.Join(members, ",") + "}"
	case []any:
		var elements []string
		for _, one := range v {
			if s := shape(one); !slices.Contains(elements, s) {
				elements = append(elements, s)
			}
		}
		slices.Sort(elements)
		return "[" + strings.Join(elements, ",") + "]"
	case string:
		return "s"
	case float64:
		return "n"
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

// codeOf returns the code of a problem, "" if there is none.
func codeOf(body []byte) string {
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(body, &p) // an answer that is not a problem has no code
	return p.Code
}
