// The helper judges histories with porcupine: JSON Lines in, one line with a verdict out for each history.
//
//	helper [-max-mb N] < histories.jsonl > verdicts.jsonl
//	helper -selfcheck     judges the golden vectors inside
//	helper -version
//
// Exit status 0: every history got its line, whatever the verdict. 65: bad input, said on stderr. Anything else is a
// crash (2 is what the Go runtime exits with), and the history that has no line is unknown.
package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

const badInput = 65

//go:embed golden.jsonl
var golden string

func main() {
	limit := flag.Int("max-mb", 0, "memory that the search may take, in MiB; 0: no limit")
	version := flag.Bool("version", false, "print the versions and end")
	selfcheck := flag.Bool("selfcheck", false, "judge the golden vectors and end")
	flag.Parse()
	var err error
	switch {
	case *version:
		fmt.Printf("%s protocol %d\n", engine(), protocol)
	case *selfcheck:
		err = serve(strings.NewReader(golden), io.Discard, watch(*limit))
	default:
		err = serve(os.Stdin, os.Stdout, watch(*limit))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(badInput)
	}
}

// serve answers one history after the other, each as soon as it is judged.
func serve(in io.Reader, out io.Writer, guard *guard) error {
	lines := json.NewDecoder(bufio.NewReaderSize(in, 1<<16))
	answers := json.NewEncoder(out)
	for {
		h, err := next(lines)
		if errors.Is(err, io.EOF) && h == nil {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := h.machine.start(h.Init); err != nil {
			return fmt.Errorf("history %q: init: %w", h.ID, err)
		}
		a, err := judge(h, guard)
		if err != nil {
			return err
		}
		if h.Expect != "" && h.Expect != a.Verdict {
			return fmt.Errorf("history %q is %s, but the verdict was %s", h.ID, h.Expect, a.Verdict)
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

func engine() string {
	library := "porcupine"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			library = "porcupine " + module.Version
		}
	}
	return library + " " + runtime.Version()
}
