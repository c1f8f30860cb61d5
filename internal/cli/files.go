package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/setting"
)

// openImport opens the file before the database, so that a wrong name changes nothing.
func openImport(name string, env setting.Environment) (io.Reader, func(), error) {
	if name == "-" {
		return env.Stdin, func() {}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	return file, func() { _ = file.Close() }, nil // the file was only read
}

// readDocument reads a file whose length is at most the parameter most, in bytes.
func readDocument(name string, env setting.Environment, most int64) ([]byte, error) {
	file, closeFile, err := openImport(name, env)
	if err != nil {
		return nil, err
	}
	defer closeFile()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return text, err
}

// ofFile returns the error of a file that the command line names. Wrong content is a
// failure, exit code 1, and not wrong usage, because the command line may be right.
func ofFile(name string, err error) error {
	if draw.CodeOf(err) != draw.CodeInvalidRequest {
		return err
	}
	return errors.New(name + ": " + setting.Message(err))
}

// rulesOfFile is a rules document of a file.
type rulesOfFile struct {
	name string
	text []byte
	*draw.Rules
}

// readRules reads a rules document; the name - means the standard input.
func readRules(name string, env setting.Environment) (*rulesOfFile, error) {
	text, err := readDocument(name, env, draw.RulesMax)
	if err != nil {
		return nil, err
	}
	read, err := rules.Parse(text)
	return &rulesOfFile{name, text, read}, ofFile(name, err)
}

// fits returns an error unless the rules fit the prizes of a pool. The error is about the
// file, not about the command line.
func (f *rulesOfFile) fits(prizes []draw.Prize) error {
	return ofFile(f.name, rules.Place(f.Check(prizes), f.text))
}

// oneFile is cobra's check of arguments for commands about one file.
func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return errors.New("name one file")
	}
	return nil
}

// ownFileMax is the maximum size of a file of checkpoints or receipts, in bytes. The
// checkpoints of a week, one each second, take half of it.
const ownFileMax = 256 << 20

// readOwnFile reads a file that the caller names. It must be regular: a device may be
// endless, and reading a FIFO may wait forever.
func readOwnFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, ownFileMax+1))
	if err == nil && len(content) > ownFileMax {
		return nil, fmt.Errorf("%s is longer than %d MiB", path, ownFileMax>>20)
	}
	return content, err
}

// openFolder opens a folder; links cannot lead out of it.
func openFolder(path string) (*os.Root, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() { // opening a FIFO waits for its writer
		return nil, fmt.Errorf("%s is no folder", path)
	}
	return os.OpenRoot(path)
}
