package main

import (
	"encoding/json"
	"fmt"
)

// A log with two ends that only grow: its start S, moved by delete, and its end N, moved by append.
//
//	append {count} -> {base}    N goes from base to base+count
//	delete {to} -> {}           S becomes at least `to`, which N has reached
//	end {} -> {end}             N is exactly this
//	start {} -> {start}         S is exactly this
//	bounds {} -> {start, end}   both at one moment
//	read {} -> {offset}         S <= offset < N
type chains struct{ start, end int64 }

type chainsCall struct {
	f      string
	Count  int64  `json:"count"`
	Base   *int64 `json:"base"`
	To     int64  `json:"to"`
	Start  int64  `json:"start"`
	End    int64  `json:"end"`
	Offset int64  `json:"offset"`
}

func (c chainsCall) step(state interface{}) (bool, interface{}) {
	s := state.(chains)
	switch c.f {
	case "append":
		return c.Base == nil || *c.Base == s.end, chains{s.start, s.end + c.Count}
	case "delete":
		if c.To > s.start {
			return c.To <= s.end, chains{c.To, s.end}
		}
		return true, s
	case "end":
		return s.end == c.End, s
	case "start":
		return s.start == c.Start, s
	case "bounds":
		return s.start == c.Start && s.end == c.End, s
	default:
		return s.start <= c.Offset && c.Offset < s.end, s
	}
}

func (c chainsCall) String() string {
	switch c.f {
	case "append":
		if c.Base == nil {
			return fmt.Sprintf("append %d record(s) -> ?", c.Count)
		}
		return fmt.Sprintf("append %d record(s) -> offset %d", c.Count, *c.Base)
	case "delete":
		return fmt.Sprintf("delete below %d", c.To)
	case "end":
		return fmt.Sprintf("end? -> %d", c.End)
	case "start":
		return fmt.Sprintf("start? -> %d", c.Start)
	case "bounds":
		return fmt.Sprintf("bounds? -> %d to %d", c.Start, c.End)
	default:
		return fmt.Sprintf("read offset %d", c.Offset)
	}
}

func (s chains) String() string { return fmt.Sprintf("start %d, end %d", s.start, s.end) }

func init() {
	machines["chains"] = machine{
		start: func(init json.RawMessage) (interface{}, error) {
			var from struct{ Start, End int64 }
			err := decode(init, &from)
			return chains{from.Start, from.End}, err
		},
		read: readChains,
		hash: func(state interface{}) uint64 { return mix(state.(chains).start, state.(chains).end) },
	}
}

func readChains(f string, in, out json.RawMessage) (call, error) {
	c := chainsCall{f: f, Count: 1}
	switch f {
	case "append", "delete", "end", "start", "bounds", "read":
	default:
		return nil, noSuchCall("chains", f)
	}
	if err := decode(in, &c); err != nil {
		return nil, err
	}
	err := decode(out, &c)
	return c, err
}
