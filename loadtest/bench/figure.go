package main

import (
	"math"
	"slices"
)

type metric string

// The metrics. Those per draw count a request, however many units it asks for.
const (
	perSecond metric = "draws_per_second"
	unitRate  metric = "units_per_second"
	p50       metric = "p50_us"
	p99       metric = "p99_us"
	p999      metric = "p999_us"
	slowest   metric = "slowest_us"
	// firstDraw is the draw of a service that has just started.
	firstDraw   metric = "first_draw_us"
	serviceCPU  metric = "service_cpu_us_per_draw"
	databaseCPU metric = "database_cpu_us_per_draw"
	clientCPU   metric = "client_cpu_us_per_draw"
	// memory is the highest that the service had resident, in 10^6 bytes, all
	// instances together.
	memory metric = "memory_mb"
	// walBytes, roundTrips and transactions are PostgreSQL's alone.
	walBytes metric = "wal_bytes_per_draw"
	// pageBytes are what MariaDB writes to its data files, the redo log left out.
	pageBytes    metric = "page_bytes_per_draw"
	roundTrips   metric = "round_trips_per_draw"
	transactions metric = "transactions_per_draw"
	batchDraws   metric = "draws_per_batch"
	answerSize   metric = "answer_bytes"
	// refused are the requests not answered as they should be, of all.
	refused metric = "refused_ratio"
	// disturbance is the CPU that others on the machine used meanwhile, in cores.
	disturbance metric = "disturbance_cores"
	// idleCPU is in cores, goroutines counts those left per pool.
	idleCPU    metric = "idle_cores"
	goroutines metric = "goroutines_per_pool"
)

func (m metric) lessIsBetter() bool {
	return !slices.Contains([]metric{perSecond, unitRate, batchDraws}, m)
}

func (m metric) isSpeed() bool {
	return slices.Contains([]metric{perSecond, unitRate, p50, p99, p999, slowest, firstDraw}, m)
}

// figures are what one measurement showed; a metric that does not apply is not
// there.
type figures map[metric]float64

type figure struct {
	of       candidate
	metric   metric
	constant float64
}

func of(c candidate, m metric) figure { return figure{of: c, metric: m} }
func rate(c candidate) figure         { return of(c, perSecond) }
func constant(value float64) figure   { return figure{constant: value} }

func (f figure) name() string {
	if f.metric == "" {
		return "constant"
	}
	return f.of.name() + ": " + string(f.metric)
}

type spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// spreadOf returns NaN for no values.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := sorted[len(sorted)/2]
	if len(sorted)%2 == 0 {
		middle = (sorted[len(sorted)/2-1] + middle) / 2
	}
	return spread{middle, sorted[0], sorted[len(sorted)-1]}
}
