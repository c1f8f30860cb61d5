package experiments

import (
	"fmt"
	"net/http"
	"time"

	"drawsvc/internal/lockmode"
)

// committedRules are limits, blanks and a fallback, fixed odds, a budget, and a
// guarantee, in turn. Fixed odds name all prizes that there are by then.
func committedRules() []string {
	return []string{
		`{"fallback":"none","win":"3/4","limits":[{"of":"prize","prize":"gold","max":5},{"of":"draws","max":50000,"per":"day"}],"zone":"Europe/Berlin"}`,
		`{"fallback":"none","odds":{"of":1000,"prizes":{"silver":200,"gold":5,"pin-5":50}},"budget":{"max":"200000.00","per":"hour"}}`,
		`{"fallback":"none","guarantee":{"after":20,"prize":"silver"},"win":"1/4","blocked":["user-7"]}`,
		`{"fallback":"none","limits":[{"of":"wins","max":300,"per":"1h"}]}`,
	}
}

// disturbances is how many acts there are while the awards are drawn.
const disturbances = 24

// disturb has something happen to the pool or to an instance at each part of the
// way, until the draws have ended.
func (r *committedRun) disturb(ended <-chan struct{}) error {
	for n := int64(1); n < disturbances; n++ {
		for r.granted.Load() < n*r.units/disturbances {
			select {
			case <-ended:
				return r.Ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
		if err := r.act(int(n)); err != nil {
			return err
		}
	}
	return nil
}

// act is the nth thing that happens.
func (r *committedRun) act(n int) error {
	path := "/admin/pools/" + committedPool
	switch n % 6 {
	case 0:
		return r.callUntil("PUT", path+"/rules", committedRules()[n/6%len(committedRules())], http.StatusOK)
	case 1, 4:
		return r.kill()
	case 2:
		delta := r.units / 50
		if n%4 == 0 {
			delta = -delta / 10
		}
		body := fmt.Sprintf(`{"delta":%d,"reason":"restock %d"}`, delta, n)
		return r.callUntil("POST", path+"/prizes/silver/stock", body, http.StatusOK)
	case 3:
		mode := lockmode.Names()[n/6%len(lockmode.Names())]
		return r.callUntil("PATCH", path, fmt.Sprintf(`{"mode":%q}`, mode), http.StatusOK)
	}
	body := fmt.Sprintf(`{"id":"pin-%d","name":"Pin %d","value":"0.50","stock":%d}`, n, n, r.units/40)
	return r.callUntil("POST", path+"/prizes", body, http.StatusCreated)
}

// kill ends an instance at once, in whatever it is doing, and starts it again.
func (r *committedRun) kill() error {
	i := r.Any()
	i.Kill()
	r.kills++
	r.Sleep(50, 200)
	return i.Again(r.Ctx)
}
