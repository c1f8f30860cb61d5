package experiments

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"drawsvc/loadtest/faults/stage"
)

// fromBehind makes the cluster anew from a node that had left before the others
// went on, as an operator does who picks the wrong one. The others then take
// over its state.
func fromBehind(t *trial) error {
	p := t.part()
	behind, others := t.Cluster[stage.GaleraNodes-1], t.Cluster[:stage.GaleraNodes-1]
	behind.Stop()
	t.Must(p.lose())
	for _, node := range others {
		node.Kill()
	}
	t.Must(forceBootstrap(behind.Dir()))
	began := time.Now()
	t.Must(behind.Start())
	t.Note("the node that was behind serves after %.1f s", time.Since(began).Seconds())
	t.Ended = time.Now()
	t.Must(p.goOn())
	t.Recover(t.Ended)
	for _, node := range others {
		// What it has that the others lack keeps a node from joining.
		t.Must(os.Remove(filepath.Join(node.Dir(), "data", "grastate.dat")))
		t.Must(node.Start())
	}
	t.Note("the others had its state after %.1f s", time.Since(began).Seconds())
	t.Ended = time.Now()
	return p.judge()
}

// forceBootstrap lets a node begin a cluster although it was not the last one
// to leave.
func forceBootstrap(folder string) error {
	file := filepath.Join(folder, "data", "grastate.dat")
	state, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Replace(string(state), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1)), 0o600)
}
