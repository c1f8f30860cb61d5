package publiclog

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rememberingCache is the broken double: it keeps a record of each pool whose hashes were
// read again.
type rememberingCache struct {
	hashCache
	noted map[string]time.Time
}

func (c *rememberingCache) reread(poolID string, l *hashedLog) bool {
	if c.noted == nil {
		c.noted = map[string]time.Time{}
	}
	c.noted[poolID] = time.Now()
	return c.hashCache.reread(poolID, l)
}

// countKept counts the entries of a cache's maps.
func countKept(cache reflect.Value) (kept int) {
	for i := range cache.NumField() {
		switch field := cache.Field(i); field.Kind() {
		case reflect.Map:
			kept += field.Len()
		case reflect.Struct:
			kept += countKept(field)
		default:
		}
	}
	return kept
}

// TestHashCacheIsBounded: if there are more pools than the cache keeps, the least
// recently used pool is dropped, with all its data.
func TestHashCacheIsBounded(t *testing.T) {
	var c hashCache
	first, second := c.find("p0"), c.find("p1")
	for i := 2; i < 10*hashedPoolsMax; i++ {
		c.find(fmt.Sprint("p", i))
		require.Same(t, first, c.find("p0"), "it is used")
	}
	require.NotSame(t, second, c.find("p1"))

	type cache interface {
		find(poolID string) *hashedLog
		reread(poolID string, l *hashedLog) bool
	}
	fill := func(c cache) int {
		for i := range 10 * hashedPoolsMax {
			pool := fmt.Sprint("p", i)
			c.reread(pool, c.find(pool))
		}
		return countKept(reflect.ValueOf(c).Elem())
	}
	require.Equal(t, hashedPoolsMax, fill(&c))
	require.Greater(t, fill(&rememberingCache{}), hashedPoolsMax, "the double is not caught")
}

// TestHashesAreRereadOnceInAWhile: hashes that led to another root are read again once
// for all callers, and not again for some time.
func TestHashesAreRereadOnceInAWhile(t *testing.T) {
	var c hashCache
	first := c.find("p")
	require.True(t, c.reread("p", first))
	again := c.find("p")
	require.NotSame(t, first, again)
	require.False(t, c.reread("p", first), "another caller was first")
	require.False(t, c.reread("p", again), "they were read again just now")
	again.rereadAt = again.rereadAt.Add(-2 * rereadEvery)
	require.True(t, c.reread("p", again))
}
