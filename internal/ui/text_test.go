package ui

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// textFile matches the files of texts, one for each language.
var textFile = regexp.MustCompile(`^text\.([a-z]+)\.js$`)

// textForms are the plural forms of a text, as Intl.PluralRules names them; "other" is
// the only one of a text without plurals.
type textForms map[string]string

var (
	textHole   = regexp.MustCompile(`\{(\w+)\}`)
	textGroup  = regexp.MustCompile(`^  (\w+): \{$`)
	textEntry  = regexp.MustCompile(`^    "?([\w-]+)"?: (?:("(?:[^"\\]|\\.)*")|\{ ((?:\w+: "(?:[^"\\]|\\.)*"(?:, )?)+) \}),$`)
	pluralForm = regexp.MustCompile(`(\w+): "((?:[^"\\]|\\.)*)"`)
	textName   = regexp.MustCompile(`^(\w+)\.[\w-]+$`)
	textCall   = regexp.MustCompile(`\b(?:t|nodes)\("([^"]*)"`)
	eventName  = regexp.MustCompile(`^(?:prize\.empty|pool\.(?:empty|opened|paused|closed)|agenda\.failed|budget\.spent)$`)
	fileName   = regexp.MustCompile(`\.(?:csv|zip|json|js|txt)$`)
)

// holes returns the holes of a text, each once.
func holes(text string) []string {
	found := map[string]bool{}
	for _, m := range textHole.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// readTexts returns the texts of a file by their names, such as pools.title. wrong
// describes errors in the file's form, which has a line for each text, in groups.
func readTexts(file string) (texts map[string]textForms, wrong []string) {
	texts = map[string]textForms{}
	_, body, _ := strings.Cut(file, "export const texts = {\n")
	group := "" // the current group
	for line := range strings.Lines(strings.TrimSuffix(body, "};\n")) {
		line = strings.TrimSuffix(line, "\n")
		if m := textGroup.FindStringSubmatch(line); m != nil {
			if group != "" {
				wrong = append(wrong, "not closed: "+group)
			}
			group = m[1]
			continue
		}
		m := textEntry.FindStringSubmatch(line)
		switch {
		case line == "  }," && group != "":
			group = ""
			continue
		case m == nil || group == "":
			wrong = append(wrong, "not a text: "+line)
			continue
		}
		name, forms := group+"."+m[1], textForms{}
		if m[2] != "" {
			forms["other"] = strings.Trim(m[2], `"`)
		}
		for _, f := range pluralForm.FindAllStringSubmatch(m[3], -1) {
			forms[f[1]] = f[2]
		}
		if _, isTwice := texts[name]; isTwice {
			wrong = append(wrong, "twice: "+name)
		}
		texts[name] = forms
	}
	if group != "" {
		wrong = append(wrong, "not closed: "+group)
	}
	return texts, wrong
}

// differences returns how the texts of a language differ from those of English: in their
// names or holes, or because only one of two has plural forms.
func differences(english, other map[string]textForms) (found []string) {
	for _, name := range slices.Sorted(maps.Keys(english)) {
		if other[name] == nil {
			found = append(found, "missing: "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		forms, of := other[name], english[name]
		switch {
		case of == nil:
			found = append(found, "not in English: "+name)
		case !slices.Equal(holes(forms["other"]), holes(of["other"])):
			found = append(found, "other holes: "+name)
		case (len(forms) > 1) != (len(of) > 1):
			found = append(found, "plurals in one only: "+name)
		}
		for form, text := range forms {
			if text == "" || form != "other" && strings.Join(slices.Compact(slices.Sorted(slices.Values(append(holes(text), holes(forms["other"])...)))), " ") != strings.Join(holes(forms["other"]), " ") {
				found = append(found, "the form "+form+": "+name)
			}
		}
		if _, isThere := forms["other"]; !isThere || len(forms) > 1 && forms["one"] == "" {
			found = append(found, "a form is missing: "+name)
		}
	}
	return found
}

// misused returns names in the scripts that have no text, texts that no script uses, and
// calls that fill other holes than those of the text.
func misused(texts map[string]textForms, scripts map[string]string) (found []string) {
	used, groups := map[string]bool{}, map[string]bool{}
	for name := range texts {
		groups[strings.Split(name, ".")[0]] = true
	}
	for _, file := range slices.Sorted(maps.Keys(scripts)) {
		for _, l := range literals(scripts[file]) {
			if prefix, _, isMade := strings.Cut(l.text, "\x00"); isMade && strings.Contains(prefix, ".") {
				for name := range texts {
					used[name] = used[name] || strings.HasPrefix(name, prefix)
				}
			}
			m := textName.FindStringSubmatch(l.text)
			isCalled := regexp.MustCompile(`\b(?:t|nodes)\($`).MatchString(l.before)
			if !isCalled && (m == nil || !groups[m[1]] || fileName.MatchString(l.text) || eventName.MatchString(l.text) && texts[l.text] == nil) || strings.Contains(l.text, "\x00") {
				continue
			}
			used[l.text] = true
			if texts[l.text] == nil {
				found = append(found, file+": no text "+l.text)
			}
		}
		for _, at := range textCall.FindAllStringSubmatchIndex(scripts[file], -1) {
			name := scripts[file][at[2]:at[3]]
			filled, isKnown := filledHoles(scripts[file][at[1]:])
			want := holes(texts[name]["other"])
			if len(texts[name]) > 1 && !slices.Contains(want, "n") {
				want = slices.Sorted(slices.Values(append(want, "n")))
			}
			if isKnown && texts[name] != nil && !slices.Equal(filled, want) {
				found = append(found, file+": other holes in the call of "+name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !used[name] && !strings.HasPrefix(name, "errors.") { // the scripts use these by the codes of the service
			found = append(found, "unused: "+name)
		}
	}
	return found
}

// filledHoles returns the members of the object that follows a name. isKnown is false if
// it is a variable instead.
func filledHoles(rest string) (members []string, isKnown bool) {
	if strings.HasPrefix(rest, ")") {
		return nil, true
	}
	body, isObject := strings.CutPrefix(rest, ", {")
	if !isObject {
		return nil, false
	}
	depth, member := 0, ""
	var quote rune
	for _, r := range body {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
			continue
		case strings.ContainsRune("\"`", r):
			quote = r
			continue
		case strings.ContainsRune("([{", r):
			depth++
		case depth > 0 && strings.ContainsRune(")]}", r):
			depth--
			continue
		}
		if depth == 0 && (r == ',' || r == '}') {
			name, _, _ := strings.Cut(member, ":")
			members = append(members, strings.TrimSpace(name))
			member = ""
			if r == '}' {
				slices.Sort(members)
				return members, true
			}
			continue
		}
		if depth == 0 {
			member += string(r)
		}
	}
	return nil, false
}

// scripts returns the scripts among the files of the page, without the texts.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, text := range all(t) {
		if strings.HasSuffix(name, ".js") && !textFile.MatchString(name) {
			found[name] = text
		}
	}
	return found
}

// TestTextsOfAllLanguagesAgree: each language of text.js has a file, and other files do
// not exist. All files have the names, the holes and the plural forms of English. The
// page of fairness may load all of them.
func TestTextsOfAllLanguagesAgree(t *testing.T) {
	t.Parallel()
	page := all(t)
	m := regexp.MustCompile(`export const languages = \["(.*)"\];`).FindStringSubmatch(page["text.js"])
	require.NotNil(t, m)
	languages := strings.Split(m[1], `", "`)
	require.Equal(t, "en", languages[0])
	english, _ := readTexts(page["text.en.js"])
	require.NotEmpty(t, english)
	var files []string
	for name, text := range page {
		if !textFile.MatchString(name) {
			continue
		}
		files = append(files, textFile.FindStringSubmatch(name)[1])
		texts, wrong := readTexts(text)
		require.Empty(t, wrong, name)
		require.Empty(t, differences(english, texts), name)
		require.Contains(t, FairFiles(), name)
	}
	require.ElementsMatch(t, languages, files)
}

// TestTextsOfAllLanguagesAgreeCatches: each kind of difference is found.
func TestTextsOfAllLanguagesAgreeCatches(t *testing.T) {
	t.Parallel()
	const head = "export const texts = {\n  a: {\n"
	english, wrong := readTexts(head + "    b: \"{x} of y\",\n    c: { one: \"a unit\", other: \"{n} units\" },\n  },\n};\n")
	require.Empty(t, wrong)
	require.Len(t, english, 2)
	for body, want := range map[string]string{
		"    b: \"{x} von y\",\n": "missing: a.c",
		"    b: \"von y\",\n    c: { one: \"ein\", other: \"{n}\" },\n":                 "other holes: a.b",
		"    b: \"{x}\",\n    c: \"{n} Stück\",\n":                                      "plurals in one only: a.c",
		"    b: \"{x}\",\n    c: { one: \"ein {z}\", other: \"{n}\" },\n":               "the form one: a.c",
		"    b: \"{x}\",\n    c: { few: \"ein\", other: \"{n}\" },\n":                   "a form is missing: a.c",
		"    b: \"{x}\",\n    c: { one: \"ein\", other: \"{n}\" },\n    d: \"mehr\",\n": "not in English: a.d",
		"    b: \"{x}\",\n    c: { one: \"\", other: \"{n}\" },\n":                      "the form one: a.c",
	} {
		other, wrong := readTexts(head + body + "  },\n};\n")
		require.Empty(t, wrong)
		require.Contains(t, differences(english, other), want, body)
	}
	for _, line := range []string{"    b: `x`,", "    b: \"x\" + y,", "    b: { one: x },", "    b: \"x\""} {
		_, wrong := readTexts(head + line + "\n  },\n};\n")
		require.NotEmpty(t, wrong, line)
	}
	_, wrong = readTexts(head + "    b: \"x\",\n    b: \"y\",\n  },\n};\n")
	require.Equal(t, []string{"twice: a.b"}, wrong)
	for body, want := range map[string]string{
		"    b: \"x\",\n  c: {\n    d: \"y\",\n  },\n": "not closed: a",
		"  },\n  c: {\n    d: \"y\",\n":                "not closed: c",
		"  },\n    b: \"x\",\n":                        "not a text:     b: \"x\",",
		"  },\n  },\n":                                 "not a text:   },",
	} {
		_, wrong := readTexts(head + body + "};\n")
		require.Equal(t, []string{want}, wrong, body)
	}
}

// TestTextsAreUsed: each name in a script has a text, each text has a use, and each call
// fills the holes of its text.
func TestTextsAreUsed(t *testing.T) {
	t.Parallel()
	english, _ := readTexts(all(t)["text.en.js"])
	require.Empty(t, misused(english, scripts(t)))
}

// TestTextsAreUsedCatches: names without a text, unused texts and wrong holes are found.
func TestTextsAreUsedCatches(t *testing.T) {
	t.Parallel()
	texts := map[string]textForms{
		"a.b": {"other": "{x} y"}, "a.c": {"one": "a unit", "other": "{n} units"}, "s.open": {"other": "open"}, "agenda.a": {"other": "a"}, "errors.x": {"other": "no"},
	}
	const good = "t(\"a.b\", { x: f({ a: 1, b }, \"}\") }); nodes(\"a.c\", { n }); t(\"agenda.a\"); t(`s.${state}`); save(\"a.csv\"); on(\"agenda.failed\");"
	require.Empty(t, misused(texts, map[string]string{"x.js": good}))
	for text, want := range map[string]string{
		good + ` t("a.z")`:                               "x.js: no text a.z",
		good + ` t("zzz")`:                               "x.js: no text zzz",
		good + ` t(is ? "a.b" : "a.y")`:                  "x.js: no text a.y",
		strings.Replace(good, "a.c", "a.b", 1):           "unused: a.c",
		strings.Replace(good, "{ n }", "{ m }", 1):       "x.js: other holes in the call of a.c",
		strings.Replace(good, "{ n }", "{ n, x: 1 }", 1): "x.js: other holes in the call of a.c",
		good + ` t("a.b")`:                               "x.js: other holes in the call of a.b",
		strings.Replace(good, "s.", "u.", 1):             "unused: s.open",
	} {
		require.Contains(t, misused(texts, map[string]string{"x.js": text}), want, text)
	}
}
