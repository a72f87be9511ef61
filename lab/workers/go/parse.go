package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parseInputs reads the lines of a prepare request from its first `input` line on.
func parseInputs(lines []string) ([]input, error) {
	var inputs []input
	seen := map[uint64]bool{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, " ")
		if name == "input" {
			number, err := parseNumber(value)
			if err != nil {
				return nil, err
			}
			if seen[number] {
				return nil, fmt.Errorf("input %d is given twice", number)
			}
			seen[number] = true
			inputs = append(inputs, input{number: number})
			continue
		}
		if len(inputs) == 0 {
			return nil, fmt.Errorf("expected an `input` line, got %.40q", name)
		}
		in := &inputs[len(inputs)-1]
		field := in.field(name)
		if field == nil {
			return nil, fmt.Errorf("input %d: unknown field %.40q", in.number, name)
		}
		if *field != nil {
			return nil, fmt.Errorf("input %d: %s is given twice", in.number, name)
		}
		bytes, err := parseHex(value)
		if err != nil {
			return nil, fmt.Errorf("input %d: %s %w", in.number, name, err)
		}
		*field = bytes
	}
	return inputs, nil
}

func parseNumber(text string) (uint64, error) {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("expected a decimal number, got %.40q", text)
	}
	return value, nil
}

// parseHex reads lower-case hexadecimal; `-` is the empty string, which is not nil.
func parseHex(text string) ([]byte, error) {
	if text == "-" {
		return []byte{}, nil
	}
	bytes, err := hex.DecodeString(text)
	if err != nil || text == "" || strings.ContainsAny(text, "ABCDEF") {
		return nil, errors.New("must be lower-case hexadecimal or `-`")
	}
	return bytes, nil
}

func formatHex(bytes []byte) string {
	if len(bytes) == 0 {
		return "-"
	}
	return hex.EncodeToString(bytes)
}

// oneLine is the error's text without line ends, as the protocol needs it.
func oneLine(err error) string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(err.Error(), "?"))
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "")
	}
	return text
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
