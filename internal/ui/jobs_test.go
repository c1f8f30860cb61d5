package ui

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// untoldCodes returns the codes of job.ErrorCodes that have no sentence on the page, and
// the sentences that have no code. source declares the codes of jobs, codes those of
// draws.
func untoldCodes(source, codes string, texts map[string]textForms) (found []string) {
	value := map[string]string{}
	for _, m := range regexp.MustCompile(`\b(Code\w+) +draw\.Code = "([a-z-]+)"|\b(Code\w+) +Code = "([a-z-]+)"`).FindAllStringSubmatch(source+codes, -1) {
		value[m[1]+m[3]] = m[2] + m[4]
	}
	_, list, _ := strings.Cut(source, "func ErrorCodes() []draw.Code {")
	list, _, _ = strings.Cut(list, "\n}\n")
	var known []string
	for _, m := range regexp.MustCompile(`Code[A-Z]\w+`).FindAllString(list, -1) {
		known = append(known, value[m])
		if texts["jobs.why-"+value[m]] == nil {
			found = append(found, "no sentence: "+m)
		}
	}
	for name := range texts {
		if code, isOf := strings.CutPrefix(name, "jobs.why-"); isOf && !slices.Contains(known, code) {
			found = append(found, "no such code: "+code)
		}
	}
	return found
}

// TestErrorsOfJobsHaveSentences: each code of an error of a job has a sentence, and each
// sentence a code. Other languages have the names of English. The broken doubles are
// texts without one of the sentences, and texts with a further sentence.
func TestErrorsOfJobsHaveSentences(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../job/failure.go")
	require.NoError(t, err)
	codes, err := os.ReadFile("../draw/errors.go")
	require.NoError(t, err)
	texts, _ := readTexts(all(t)["text.en.js"])
	require.Empty(t, untoldCodes(string(source), string(codes), texts))
	delete(texts, "jobs.why-job-stopped")
	require.Equal(t, []string{"no sentence: CodeStopped"}, untoldCodes(string(source), string(codes), texts))
	texts["jobs.why-job-stopped"], texts["jobs.why-other"] = textForms{"other": "a"}, textForms{"other": "a"}
	require.Equal(t, []string{"no such code: other"}, untoldCodes(string(source), string(codes), texts))
}
