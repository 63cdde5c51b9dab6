package main

import (
	"encoding/json"
	"fmt"
)

// A register: the last value written, at first none.
//
//	write {value} -> {}
//	read {} -> {value}          null: none
//	cas {from, to} -> {ok}      becomes `to` if it is `from`; ok says whether it was
type register struct {
	set   bool
	value int64
}

type registerCall struct {
	f        string
	answered bool
	Value    *int64 `json:"value"`
	From     int64  `json:"from"`
	To       int64  `json:"to"`
	Ok       bool   `json:"ok"`
}

func (c registerCall) step(state interface{}) (bool, interface{}) {
	r := state.(register)
	switch c.f {
	case "write":
		return true, register{true, *c.Value}
	case "read":
		if !c.answered {
			return true, r
		}
		return (c.Value == nil && !r.set) || (c.Value != nil && r == register{true, *c.Value}), r
	default:
		if r == (register{true, c.From}) {
			return c.Ok || !c.answered, register{true, c.To}
		}
		return !c.Ok || !c.answered, r
	}
}

func (c registerCall) String() string {
	switch {
	case c.f == "write":
		return fmt.Sprintf("write %d", *c.Value)
	case c.f == "read" && !c.answered:
		return "read -> ?"
	case c.f == "read" && c.Value == nil:
		return "read -> none"
	case c.f == "read":
		return fmt.Sprintf("read -> %d", *c.Value)
	case !c.answered:
		return fmt.Sprintf("cas %d to %d -> ?", c.From, c.To)
	default:
		return fmt.Sprintf("cas %d to %d -> %t", c.From, c.To, c.Ok)
	}
}

func (r register) String() string {
	if !r.set {
		return "none"
	}
	return fmt.Sprintf("%d", r.value)
}

func init() {
	machines["register"] = machine{
		start: func(init json.RawMessage) (interface{}, error) {
			var from struct{ Value *int64 }
			if err := decode(init, &from); err != nil || from.Value == nil {
				return register{}, err
			}
			return register{true, *from.Value}, nil
		},
		read: readRegister,
		late: true,
		hash: func(state interface{}) uint64 {
			if r := state.(register); r.set {
				return mix(r.value)
			}
			return 0
		},
	}
}

func readRegister(f string, in, out json.RawMessage) (call, error) {
	c := registerCall{f: f, answered: known(out)}
	if f != "write" && f != "read" && f != "cas" {
		return nil, noSuchCall("register", f)
	}
	if err := decode(in, &c); err != nil {
		return nil, err
	}
	if f == "write" && c.Value == nil {
		return nil, fmt.Errorf("a write needs a value")
	}
	err := decode(out, &c)
	return c, err
}
