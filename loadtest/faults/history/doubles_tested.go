package history

// Tested is a double that a test of its package condemns, where a cell would show
// less: what is left out is a line of a decision, and the test says which.
type Tested struct {
	Double
	// Package is the folder of the test, from the repository's root, and Test its
	// name. Flags are for it alone.
	Package, Test string
	Flags         []string
}

// TestedDoubles are all that tests have to condemn.
func TestedDoubles() []Tested {
	const model = "TestAgainstModel"
	// What fails is not to be made small, nor to be kept.
	quick := []string{"-rapid.shrinktime=1ms", "-rapid.nofailfile"}
	return []Tested{
		{Double{"drawsvc-checks-alone", "the service, which checks each draw of a user in a batch alone", []edit{
			{`return t.last + t.fresh + k - maximum`, `return t.last + k - maximum`},
		}}, "internal/draw/urn", model, quick},
		{Double{"drawsvc-reads-too-soon", "the service, which takes draws in behind the read of their users", []edit{
			{`	return b.plan(now, facts), nil`, `	b.TopUp()
	return b.plan(now, facts), nil`},
		}}, "internal/group", "TestWhoComesDuringTheReadWaits", nil},
		{Double{"drawsvc-keeps-tallies", "the service, whose undone plans leave their turns behind", []edit{
			{`t.fresh++`, `t.last++`},
		}}, "internal/draw/urn", model, quick},
		{Double{"drawsvc-keeps-rules", "the service, which keeps rules that were replaced", []edit{
			{`if u.terms != nil && u.terms.Rules == r && u.terms.prizes == len(u.prizes) {`, `if u.terms != nil {`},
		}}, "internal/draw/urn", model, quick},
		{Double{"drawsvc-forgives", "the service, whose redirects begin a run of misses anew", []edit{
			{`if !prize.blank {`, `if !prize.blank || p.Awards[len(p.Awards)-1].Redirect != nil {`},
		}}, "internal/draw/urn", model, quick},
		{Double{"drawsvc-keeps-tickets", "the service, each of whose instances keeps its own tickets", []edit{
			{`	"errors"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"`, `	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"`},
			{`DrawID: c.ID, Named: true, Count: 1,`, `DrawID: c.ID + fmt.Sprintf("-%p", k), Named: true, Count: 1,`},
		}}, "internal/cli", "TestTicketIsOneDraw/postgres", nil},
		{Double{"drawsvc-blind-to-tls", "the service, which does not find the connection of a request under TLS", []edit{
			{`context.WithValue(ctx, connKey{}, connUnder(c))`, `context.WithValue(ctx, connKey{}, c)`},
		}}, "internal/http", "TestSlowBodiesMakeRoom", nil},
		{Double{"drawsvc-believes-tickets", "the service, which takes the algorithm from the ticket", []edit{
			{`case t.Method.Alg() != found.method.Alg():`, `case false:`},
		}}, "internal/ticket", "TestReadRefuses", nil},
	}
}
