package servertest

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"testing"
)

// verifierParent is the script that runs the second verifier of proofs.
//
//go:embed verifier.py
var verifierParent string

// verifier runs docs/verify/verify.py. It is kept, because starting Python and compiling
// the program takes ten times as long as checking a small pool. It ends when the test
// process ends, because its input is then closed.
type verifier struct {
	questions io.Writer
	answers   *bufio.Reader
}

// startVerifiers returns one place for a verifier per processor. The first test that gets
// a place starts the verifier.
func startVerifiers() chan *verifier {
	all := make(chan *verifier, runtime.GOMAXPROCS(0))
	for range cap(all) {
		all <- &verifier{}
	}
	return all
}

// SecondVerifier runs docs/verify/verify.py with the arguments. It returns its exit code
// and its output. Each call is a separate process, but the program is compiled only once.
func SecondVerifier(tb testing.TB, args ...string) (code int, said string) {
	tb.Helper()
	NeedPrograms(tb, "python3", "python3")
	all := verifiers()
	v := <-all
	defer func() { all <- v }()
	if v.questions == nil {
		if err := v.start(); err != nil {
			tb.Fatalf("start the second verifier: %v", err)
		}
	}
	code, said, err := v.ask(args)
	if err != nil {
		v = &verifier{}
		tb.Fatalf("ask the second verifier: %v\n%s", err, said)
	}
	return code, said
}

func (v *verifier) start() error {
	command := exec.Command("python3", "-c", verifierParent, "../../docs/verify/verify.py") // relative to the folder of a package
	questions, err := command.StdinPipe()
	if err != nil {
		return err
	}
	answers, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		return err
	}
	v.questions, v.answers = questions, bufio.NewReader(answers)
	return nil
}

func (v *verifier) ask(args []string) (code int, said string, err error) {
	question, err := json.Marshal(args)
	if err != nil {
		return 0, "", err
	}
	if _, err := v.questions.Write(append(question, '\n')); err != nil {
		return 0, "", err
	}
	line, err := v.answers.ReadString('\n')
	if err != nil {
		return 0, line, err
	}
	var length int
	if _, err := fmt.Sscanf(line, "%d %d\n", &code, &length); err != nil {
		rest, _ := io.ReadAll(v.answers)
		return 0, line + string(rest), err
	}
	b := make([]byte, length)
	_, err = io.ReadFull(v.answers, b)
	return code, string(b), err
}
