package main

import (
	"encoding/json"
	"fmt"
)

// The log of one partition. Its state is its end: the offset that the next record gets.
//
//	append {count} -> {base}   the end goes from base to base+count (base null: not told)
//	end {} -> {end}            the end is exactly this
//	saw {} -> {end}            the end is at least this
//	between {} -> {low, high}  the end lies in [low, high]
type logCall struct {
	f         string
	Count     int64  `json:"count"`
	Base      *int64 `json:"base"`
	End       int64  `json:"end"`
	Low, High int64
}

func (c logCall) step(state interface{}) (bool, interface{}) {
	end := state.(int64)
	switch c.f {
	case "append":
		return c.Base == nil || *c.Base == end, end + c.Count
	case "end":
		return end == c.End, end
	case "saw":
		return end >= c.End, end
	default:
		return c.Low <= end && end <= c.High, end
	}
}

func (c logCall) String() string {
	switch c.f {
	case "append":
		if c.Base == nil {
			return fmt.Sprintf("append %d record(s) -> ?", c.Count)
		}
		return fmt.Sprintf("append %d record(s) -> offset %d", c.Count, *c.Base)
	case "end":
		return fmt.Sprintf("end? -> %d", c.End)
	case "saw":
		return fmt.Sprintf("read up to offset %d", c.End-1)
	default:
		return fmt.Sprintf("end? -> %d to %d", c.Low, c.High)
	}
}

func init() {
	machines["log"] = machine{
		start: func(init json.RawMessage) (interface{}, error) {
			var from struct {
				End int64 `json:"end"`
			}
			err := decode(init, &from)
			return from.End, err
		},
		read: readLog,
		hash: func(state interface{}) uint64 { return mix(state.(int64)) },
	}
}

func readLog(f string, in, out json.RawMessage) (call, error) {
	c := logCall{f: f, Count: 1}
	switch f {
	case "append", "end", "saw", "between":
	default:
		return nil, noSuchCall("log", f)
	}
	if err := decode(in, &c); err != nil {
		return nil, err
	}
	err := decode(out, &c)
	return c, err
}
