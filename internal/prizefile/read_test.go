package prizefile

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"

	"drawsvc/internal/draw"
)

// readAll reads a file whose lines are all admitted.
func readAll(file string) (*File, error) {
	f, err := Read(strings.NewReader(file), func(*Line) error { return nil })
	if err != nil {
		return f, err
	}
	return f, f.Bad.Err()
}

// shown returns the prizes of a file as texts.
func shown(f *File) (all []string) {
	for _, l := range f.Lines {
		all = append(all, fmt.Sprintf("%s/%s/%s/%d", l.Prize.ID, l.Prize.Name, l.Prize.Value.StringFixed(2), l.Prize.Stocked))
	}
	return all
}

func windows1252(t *testing.T, text string) string {
	t.Helper()
	encoded, err := charmap.Windows1252.NewEncoder().String(text)
	require.NoError(t, err)
	return encoded
}

func encodeUTF16(order binary.AppendByteOrder, text string) string {
	var file []byte
	for _, unit := range utf16.Encode([]rune("\uFEFF" + text)) {
		file = order.AppendUint16(file, unit)
	}
	return string(file)
}

// decoder reads the name of the first prize of a file.
type decoder func(file string) (name string, encoding draw.Encoding, err error)

func read(file string) (string, draw.Encoding, error) {
	f, err := readAll(file)
	if err != nil {
		return "", "", err
	}
	return f.Lines[0].Prize.Name, f.Encoding, nil
}

// checkLetters returns an error unless a decoder keeps the letters of each encoding,
// states the encoding, and refuses text with lost letters.
func checkLetters(t *testing.T, decode decoder) error {
	t.Helper()
	const name = "Plüschelch – 100 €"
	file := "prize;name;value;stock\nelch;" + name + ";19,90;5\n"
	for _, c := range []struct {
		file string
		want draw.Encoding
	}{
		{file, draw.EncodingUTF8},
		{"\uFEFF" + file, draw.EncodingUTF8},
		{windows1252(t, file), draw.EncodingWindows1252},
		{encodeUTF16(binary.LittleEndian, file), draw.EncodingUTF16},
		{encodeUTF16(binary.BigEndian, strings.ReplaceAll(file, ";", "\t")), draw.EncodingUTF16},
	} {
		switch got, encoding, err := decode(c.file); {
		case err != nil:
			return err
		case got != name || encoding != c.want:
			return fmt.Errorf("%s was read as %s: %q", c.want, encoding, got)
		}
	}
	line := "prize,name,value,stock\nfirst,Größe,1,1\n"
	for file, says := range map[string]string{
		line + "b,B\xfc,1,1\n":                    "line 3: is not UTF-8 text, and line 2 is",
		windows1252(t, line) + "b,Bü,1,1\n":       "line 3: is UTF-8 text, and line 2 is not",
		"\uFEFF" + windows1252(t, line):           "line 2: is not UTF-8 text, although the file begins as such",
		"prize,name,value,stock\nb,B\x81,1,1\n":   "line 2: is neither UTF-8 nor Windows-1252 text",
		"prize,name,value,stock\nb,B\uFFFD,1,1\n": "line 2: holds U+FFFD",
		encodeUTF16(binary.LittleEndian, "prize,name,value,stock\nb,B") + "\x00\xd8,\x001\x00,\x001\x00": "line 2: holds U+FFFD",
	} {
		if _, _, err := decode(file); err == nil || !strings.Contains(err.Error(), says) {
			return fmt.Errorf("%q: %w instead of %q", file, err, says)
		}
	}
	return nil
}

// TestLettersSurvive: no letter of a file is lost silently. One broken double replaces
// bytes that are not UTF-8. Another states the wrong encoding. The third reads every
// file as Windows-1252.
func TestLettersSurvive(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkLetters(t, read))
	for _, double := range []decoder{
		func(file string) (string, draw.Encoding, error) { return read(strings.ToValidUTF8(file, "\uFFFD")) },
		func(file string) (string, draw.Encoding, error) {
			name, _, err := read(file)
			return name, draw.EncodingUTF8, err
		},
		func(file string) (string, draw.Encoding, error) {
			decoded, err := charmap.Windows1252.NewDecoder().String(file)
			if err != nil {
				return "", "", err
			}
			return read(decoded)
		},
	} {
		require.Error(t, checkLetters(t, double))
	}
}

func TestColumnsHaveNamesOfFourLanguages(t *testing.T) {
	t.Parallel()
	for _, header := range []string{
		"prize;name;value;stock", "ID;Name;Value;Stock", "Gewinn;Bezeichnung;Wert;Anzahl", "KENNUNG;NAME;WERT;STÜCK", "Lot;Nom;Valeur;Quantité", "Premio;Nombre;Valor;Existencias",
	} {
		for _, text := range []string{header, windows1252(t, header)} {
			f, err := readAll(text + "\ngold;Gold;19,90;5\ntin;Tin;0.5;1\nold;;;0\n")
			require.NoError(t, err, header)
			require.Equal(t, []string{"gold/Gold/19.90/5", "tin/Tin/0.50/1", "old//0.00/0"}, shown(f), header)
		}
	}
	_, err := readAll("Preis;Name;Wert;Anzahl\n")
	require.ErrorContains(t, err, `it has the column "Preis"`, "a prize or its price")
	_, err = readAll("Lot;Nom;Nombre;Valeur;Stock\n")
	require.ErrorContains(t, err, `has the column name twice: "Nom" and "Nombre"`)
	f, err := readAll("Gewinn;Art;Name;Wert;Bestand\nniete;blank;Niete;;\n")
	require.NoError(t, err)
	require.True(t, f.Lines[0].Prize.IsEndless())
	_, err = readAll("prize,name,value,stock,kind\nnone,None,,1000000000000,blank\n")
	require.ErrorContains(t, err, `line 2: blank "none" would be endless; its stock must stay below 1000000000000`, "a number does not mean endless")
}

// TestDecimalCommas: a comma may precede the cents only if commas do not separate the
// fields. It never separates thousands.
func TestDecimalCommas(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"3499,00": "3499.00", "0,5": "0.50", "3499.00": "3499.00", "3499": "3499.00"} {
		for _, separator := range []string{";", "\t"} {
			f, err := readAll(strings.ReplaceAll("prize;name;value;stock\na;A;"+value+";1\n", ";", separator))
			require.NoError(t, err, value)
			require.Equal(t, []string{"a/A/" + want + "/1"}, shown(f))
		}
	}
	for _, value := range []string{"1.500,00", "1,500", "1.500", "1,500.00", "1,5,0", ",5", "5,", "19,90 €"} {
		_, err := readAll("prize;name;value;stock\na;A;" + value + ";1\n")
		require.ErrorContains(t, err, "with a comma or a point before the cents and no other mark", value)
	}
	_, err := readAll("prize,name,value,stock\na,A,\"19,90\",1\n")
	require.ErrorContains(t, err, "with a point before the cents and no other mark")
}

// TestAllErrorsAreNamedAtOnce: an error message names ten errors of a file, in the order
// of lines, and the number of the others. The errors of one line are together.
func TestAllErrorsAreNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := readAll("prize,name,value,stock,kind\nGold,,x,,code\nb,B,1,\n")
	require.EqualError(t, err, "invalid-request: "+`line 2: kind must be prize, blank or empty, not "code"; `+
		`line 2: value must be an amount such as "19.90", 0 to 999999999999.99, with a point before the cents and no other mark, not "x"; `+
		"line 2: stock is missing: give a number of units, 0 for none, or the kind blank for a losing ticket without end; "+
		"line 2: prize id must match [a-z0-9][a-z0-9._-]{0,63}, not \"Gold\"; line 3: has 4 columns instead of 5; quote a field that holds the separator; nothing was imported")
	_, err = readAll("prize,name,value,stock\n" + strings.Repeat("x\n", 500))
	require.ErrorContains(t, err, "line 11: has 1 columns instead of 4; quote a field that holds the separator; and 490 more; nothing was imported")
	file := strings.NewReader("prize,name,value,stock\n" + strings.Repeat("x\n", 1<<19))
	f, err := Read(file, nil)
	require.NoError(t, err)
	require.ErrorContains(t, f.Bad.Err(), "; and 990 more; the lines after that were not read; nothing was imported")
	rest, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Greater(t, len(rest), 1<<19, "the rest was not read")
}
